/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP backend: maps the rings of a descriptor that the broker has bound. */
#ifndef SL_XSK_H
#define SL_XSK_H

#include <xdp/xsk.h>

#include "base/lock.h"
#include "io/far.h"
#include "io/io.h"

/* A queue of a device. Its fill and completion rings are shared by all lanes on it, also by those
 * of other processes. */
struct sl_xsk_queue {
	struct sl_share_queue *shared; /* the rings' lock, and what is under way in them */
	const struct sl_share_told_queue *told;
	struct sl_share_ring fill, comp;
	void *fill_map, *comp_map; /* ours to unmap, else NULL */
	size_t fill_len, comp_len;
	uint32_t users; /* XSKs on it */
	bool gone;      /* the device is gone: the fill ring is left empty */
};

struct sl_xsk_sizes {
	uint32_t rx, tx, fill, comp;     /* entries */
	uint32_t share_queue, share_xsk; /* records in the group's memory */
};

struct sl_xsk {
	struct sl_rx rx;
	struct sl_tx tx;
	int fd;
	struct sl_xsk_queue *q;
	struct sl_share_xsk *shared;
	struct xsk_ring_cons rx_ring;
	struct xsk_ring_prod tx_ring;
	struct sl_far *far;        /* sends from frames that are not registered; NULL: all are */
	uint32_t near;             /* frames below this number are registered */
	struct sl_gso *gso;        /* segmentation in front of tx (io/gso.c); NULL: none */
	struct sl_packet *packet;  /* receives in place of the ring (io/packet.c); NULL: none */
	struct sl_verbs_rx *verbs; /* the same (io/nic/verbs_rx.h); NULL: none */
	struct sl_lock verbs_lock; /* of that, against its end */
	int rx_fd; /* what becomes readable in place of fd; 0: fd does. Any thread may read it */
	uint64_t rx_full, rx_lost; /* packets dropped because the packet socket's ring was full, and
				      because they could not be read */
	void *rx_map, *tx_map;
	size_t rx_len, tx_len;
	/* The kernel's indices of the rings are read once in a batch only: each look is a cache
	 * miss. */
	uint32_t fill_debt; /* received since the last look at the fill ring */
	uint32_t fill_owe; /* the most that all lanes of the queue together may have in fill_debt */
	uint32_t counted;  /* the receive ring's index up to which the pool was told */
};

/* Rings that are mapped already; sl_xsk_open() maps those that are NULL. */
struct sl_xsk_maps {
	void *rx, *tx;     /* unmapped by sl_xsk_close() */
	void *fill, *comp; /* left alone */
};

/* Maps the rings of fd, which x owns from now on. q: shared with the other XSKs of the queue; its
 * rings are mapped when users is 0. 0 or -errno (then fd is the caller's still). */
int sl_xsk_open(struct sl_xsk *x, int fd, struct sl_xsk_queue *q, const struct sl_xsk_sizes *sizes,
		const struct sl_xsk_maps *maps);
/* The second half of sl_xsk_open(), when the rings of x and q are mapped. For tests, which have
 * rings in plain memory. */
void sl_xsk_start(struct sl_xsk *x, struct sl_xsk_queue *q, uint32_t share_xsk);
/* Tells x that only frames below `near` are registered with it; far sends from the others and is
 * x's from now on. Before the first post. */
void sl_xsk_set_far(struct sl_xsk *x, struct sl_far *far, uint32_t near);
/* True: the kernel has taken all that is on the transmit ring, after a kick if need be. Lane held.
 */
bool sl_xsk_tx_empties(struct sl_xsk *x);
/* Closes fd and unmaps the rings. Packets that were not read are dropped. Close gso and packet
 * before. Lane held. */
void sl_xsk_close(struct sl_xsk *x, struct sl_frames *cache);
/* Receiving by the ring. */
extern const struct sl_rx_ops sl_xsk_rx_ops;
/* Sending by the ring, without segmentation in front of it (io/gso.c). */
extern const struct sl_tx_ops sl_xsk_tx_ops;
/* True: the kernel has taken all that was put on the transmit ring. Lane held. */
bool sl_xsk_tx_is_empty(const struct sl_xsk *x);
/* True: more than half of the transmit ring waits: poll(2) reports POLLOUT only when at most half
 * does (xsk_poll()). Any thread. */
bool sl_xsk_tx_is_behind(const struct sl_xsk *x);
/* Call when the device certainly does not exist any more: takes the frames out of its queue's fill
 * ring, and keeps that empty from now on. False: the ring's lock is not free now, call again. Lane
 * held. */
bool sl_xsk_device_gone(struct sl_xsk *x, struct sl_frames *cache);

/* Where the kernel will put the next packet of the queue, in copy mode, and the bytes that the
 * frame has for it. Only to prefetch: it may be wrong. NULL: not known. Lane held. */
const uint8_t *sl_xsk_next_packet(const struct sl_xsk *x, size_t *room);

/* Frames that wait for packets. */
struct sl_xsk_posted {
	uint32_t frames;
	uint32_t looked_at, jumps; /* of so many, so many lie before the one that they follow */
};
/* Adds those of the queue's fill ring. Other threads and the kernel change it meanwhile: the counts
 * are of about now. Lane held. */
void sl_xsk_read_posted(const struct sl_xsk *x, struct sl_xsk_posted *p);

/* Packets that the kernel did not deliver or take since the XSK was made. */
struct sl_xsk_counts {
	uint64_t rx_dropped; /* no frame to receive into, or too long for one */
	uint64_t rx_ring_full;
	uint64_t fill_empty; /* counted for the queue: the same in each of its XSKs */
	uint64_t tx_invalid; /* descriptors refused */
};
/* Reads the counts. 0 or -errno (all zero then). A system call; any thread. */
int sl_xsk_read_counts(const struct sl_xsk *x, struct sl_xsk_counts *c);

#endif
