/* SPDX-License-Identifier: BSD-2-Clause */
/* Backends: how frames get in and out. Receive and transmit are chosen apart (AF_XDP receives on
 * every NIC; transmit may be a verbs queue). Bursts only; all calls under the lane's lock. */
#ifndef SL_IO_H
#define SL_IO_H

#include "base/base.h"
#include "io/frame.h"

/* A received frame: the caller owns it now. */
struct sl_rx_desc {
	uint32_t frame;
	uint16_t off; /* of the packet from the frame's start; metadata is in front of it */
	uint16_t len;
	bool more; /* the packet goes on in the next one, which has but its bytes */
};
#define SL_RX_BUFS 8 /* frames of a packet at most */

/* A frame to send; the backend owns one reference of it once posted and puts it on completion. */
struct sl_tx_desc {
	uint32_t frame;
	uint16_t off;
	uint16_t len;
	uint8_t flags; /* SL_TXD_* */
	uint8_t hdr;   /* of a TCP segment that may be carried on, or carries on one: headers */
};
/* The device is to write the checksums (SL_TX_CSUM). */
#define SL_TXD_CSUM (1u << 0)
/* The bytes alone of the next TCP segment after the one of the descriptor before it (SL_TX_TSO):
 * the headers are those of the first of them, whose length all but the last one have. There is room
 * for headers in front of them. The first must have been posted since the last kick. */
#define SL_TXD_CONT (1u << 1)
/* The packet goes on in the next descriptor, which is given to post() with it (SL_TX_SG). */
#define SL_TXD_MORE (1u << 2)

/* Who wants to know when a packet left. */
struct sl_tx_ask {
	void *lane, *who;
	uint64_t what;
};

struct sl_rx;
struct sl_tx;

struct sl_rx_ops {
	const char *name;
	/* Takes up to n received frames, and what of the last packet is in further ones: up to n +
	 * SL_RX_BUFS - 1. Returns how many. */
	unsigned (*burst)(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n);
	/* Gives the device frames to receive into; true if it is well supplied. */
	bool (*refill)(struct sl_rx *rx, struct sl_frames *cache);
	/* Readable when frames arrive; -1: none. */
	int (*fd)(struct sl_rx *rx);
	void (*close)(struct sl_rx *rx, struct sl_frames *cache);
};

struct sl_tx_ops {
	const char *name;
	/* Puts up to n frames on the ring; returns how many were taken. */
	unsigned (*post)(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n);
	/* Starts what was posted: once for a batch. 0; -EAGAIN: call again later; -ENETDOWN,
	 * -ENXIO: the device is gone. The one system call of the transmit path. */
	int (*kick)(struct sl_tx *tx);
	/* Takes completed frames back; returns how many. Costs a look at what the device writes:
	 * call it when unreaped has grown. Who needs them calls sl_tx_reap(). */
	unsigned (*reap)(struct sl_tx *tx, struct sl_frames *cache);
	/* Has the device tell, soon, of what was started last, too. NULL: it does. */
	void (*settle)(struct sl_tx *tx);
	void (*close)(struct sl_tx *tx, struct sl_frames *cache);
	/* Of the packet that was posted last sl_tx_on_stamp() is to be told, from reap() or
	 * close(). False: too many are. NULL without SL_TX_STAMP. */
	bool (*stamp)(struct sl_tx *tx, const struct sl_tx_ask *ask);
	/* How many post() would take now. NULL: it is not known. */
	uint32_t (*room)(struct sl_tx *tx);
};
/* Set once, by who asks. hw_ns: by the device's clock, converted as the settings say; 0: it is not
 * known. */
extern void (*sl_tx_on_stamp)(const struct sl_tx_ask *ask, uint64_t hw_ns);
#define SL_TX_CSUM  (1u << 0) /* the device writes checksums */
#define SL_TX_TSO   (1u << 1) /* the device segments */
#define SL_TX_STAMP (1u << 2) /* the device stamps what it sends */
#define SL_TX_WAITS (1u << 3) /* what is posted is not with a device yet */
#define SL_TX_SG    (1u << 4) /* a packet may be in SL_TX_BUFS frames */
#define SL_TX_BUFS  8
/* What one packet of SL_TX_TSO may have: segments, bytes of payload. */
#define SL_TSO_SEGS  16
#define SL_TSO_BYTES 65000

/* What every backend's state starts with. */
struct sl_rx {
	const struct sl_rx_ops *ops;
	bool hungry;  /* refill() found no frames: nothing may come until there are some */
	bool several; /* of what burst() took last some may be packets in several frames */
	bool cut;     /* what comes first is the rest of one in more than SL_RX_BUFS */
};
struct sl_tx {
	const struct sl_tx_ops *ops;
	uint32_t caps;     /* SL_TX_* */
	uint32_t open;     /* another one after each post; 0: nothing that could be carried on */
	uint32_t posted;   /* frames put on the ring since the last kick */
	uint32_t unreaped; /* frames posted since the last reap */
};

/* As reap(), for who needs frames, or waits for what is under way: calls it again and again. */
static inline unsigned sl_tx_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	unsigned n = tx->ops->reap(tx, cache);

	if (!n && tx->ops->settle)
		tx->ops->settle(tx);
	return n;
}

#endif
