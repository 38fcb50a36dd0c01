/* SPDX-License-Identifier: BSD-2-Clause */
/* Backends receive and send frames. Receive and transmit are chosen apart (AF_XDP receives on every
 * NIC; transmit may be a verbs queue). Bursts only; all calls under the lane's lock. */
#ifndef SL_IO_H
#define SL_IO_H

#include "base/base.h"
#include "io/frame.h"

/* A received frame: the caller owns it now. */
struct sl_rx_desc {
	uint32_t frame;
	uint16_t off; /* where the packet begins; metadata is in front of it */
	uint16_t len;
	bool more; /* the packet goes on in the next descriptor, which has only more of its bytes */
	bool csum_ok; /* the kernel vouches for the transport's checksum, which may be partial */
};
#define SL_RX_BUFS 8 /* frames of a packet at most */
/* Frames that a burst takes beyond one for each packet: those of a packet in several, and those of
 * packets that the kernel has put together. */
#define SL_RX_MORE 144

/* A frame to send. Once posted, the backend owns one reference, and drops it on completion. */
struct sl_tx_desc {
	uint32_t frame;
	uint16_t off;
	uint16_t len;
	uint8_t flags; /* SL_TXD_* */
	uint8_t hdr; /* bytes of headers of a TCP segment that starts or continues a run; else 0 */
};
/* The device must write the checksums (SL_TX_CSUM). */
#define SL_TXD_CSUM (1u << 0)
/* The frame has only the payload of the TCP segment that follows the previous descriptor's
 * (SL_TX_TSO). The first descriptor of such a run has the headers, and must have been posted since
 * the last kick; all segments but the last are as long as the first. There is room for headers in
 * front of each payload. */
#define SL_TXD_CONT (1u << 1)
/* The packet goes on in the next descriptor, which must be in the same call of post()
 * (SL_TX_SG). */
#define SL_TXD_MORE (1u << 2)

/* A request to be told when a packet left. The fields are the asker's own. */
struct sl_tx_ask {
	void *lane, *who;
	uint64_t what;
};

struct sl_rx;
struct sl_tx;

struct sl_rx_ops {
	const char *name;
	/* Takes up to n received packets, and all their frames: in all up to n + SL_RX_MORE.
	 * Returns how many frames. */
	unsigned (*burst)(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n);
	/* Gives the device frames to receive into. True: it is well supplied. */
	bool (*refill)(struct sl_rx *rx, struct sl_frames *cache);
	/* A descriptor that becomes readable when frames arrive; -1: none. */
	int (*fd)(struct sl_rx *rx);
	/* Ends receiving; the frames that it held go to cache. */
	void (*close)(struct sl_rx *rx, struct sl_frames *cache);
};

struct sl_tx_ops {
	const char *name;
	/* Puts up to n frames on the ring; returns how many were taken. */
	unsigned (*post)(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n);
	/* Starts what was posted: once for a batch. 0; -EAGAIN: call again later; -ENETDOWN: the
	 * device is down; -ENXIO: it is gone; -EIO: the queue is dead (verbs.h). The one system
	 * call of the transmit path. */
	int (*kick)(struct sl_tx *tx);
	/* Takes completed frames back; returns how many. Each call reads memory that the device
	 * writes, so call it when unreaped has grown. A caller that needs frames calls
	 * sl_tx_reap(). */
	unsigned (*reap)(struct sl_tx *tx, struct sl_frames *cache);
	/* Makes the device report the completion of its last packets soon. NULL: it does so by
	 * itself. */
	void (*settle)(struct sl_tx *tx);
	void (*close)(struct sl_tx *tx, struct sl_frames *cache);
	/* Asks for the send time of the packet posted last: reap() or close() passes it to
	 * sl_tx_on_stamp(). False: too many packets wait for theirs. NULL without SL_TX_STAMP. */
	bool (*stamp)(struct sl_tx *tx, const struct sl_tx_ask *ask);
	/* How many frames post() would take now. NULL: it is not known. */
	uint32_t (*room)(struct sl_tx *tx);
};
/* Called with the send time of a packet; set once, by the layer that asks. hw_ns: by the device's
 * clock, converted as the settings say; 0: it is not known. */
extern void (*sl_tx_on_stamp)(const struct sl_tx_ask *ask, uint64_t hw_ns);
#define SL_TX_CSUM  (1u << 0) /* the device writes checksums */
#define SL_TX_TSO   (1u << 1) /* the device segments */
#define SL_TX_STAMP (1u << 2) /* the device stamps what it sends */
#define SL_TX_WAITS (1u << 3) /* posted packets wait here: no device has them yet */
#define SL_TX_SG    (1u << 4) /* a packet may be in SL_TX_BUFS frames */
#define SL_TX_BUFS  8
/* Limits of one packet of SL_TX_TSO: segments (of any backend; a NIC gathers from fewer places),
 * and bytes of payload. */
#define SL_TSO_SEGS     45
#define SL_TSO_NIC_SEGS 16
#define SL_TSO_BYTES    65000

/* The part of a backend's state that all backends have. */
struct sl_rx {
	const struct sl_rx_ops *ops;
	bool hungry;  /* refill() found no frames, so none may arrive until there are some */
	bool several; /* packets of the last burst() may be in several frames */
	bool cut;     /* the next frames are the rest of a packet that had more than SL_RX_BUFS */
	bool full;    /* set before burst(): programs read too slowly. What can wait with the kernel
			 waits there, but for one packet a burst */
	bool left;    /* the last burst() has left packets there, since it was full */
};
struct sl_tx {
	const struct sl_tx_ops *ops;
	uint32_t caps;     /* SL_TX_* */
	uint32_t segs;     /* SL_TX_TSO: segments of a packet at most */
	uint32_t open;     /* changes with each post; 0: no run that could be carried on */
	uint32_t posted;   /* frames put on the ring since the last kick */
	uint32_t unreaped; /* frames posted since the last reap */
};

/* Calls reap(); when that finds nothing, makes the device report. For callers that need frames or
 * wait for packets under way, which call it again and again. */
static inline unsigned sl_tx_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	unsigned n = tx->ops->reap(tx, cache);

	if (!n && tx->ops->settle)
		tx->ops->settle(tx);
	return n;
}

#endif
