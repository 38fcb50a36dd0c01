/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes back what a dead process had of its group's memory (share_bury.c). The broker does it, with
 * one thread at a time. share.h says how. */
#ifndef SL_SHARE_BURY_H
#define SL_SHARE_BURY_H

#include "base/share/share.h"

/* The rings of a queue, and of an XSK (whose entries are struct xdp_desc, 16 bytes), with the
 * numbers of their records. */
struct sl_share_rings {
	uint32_t queue;
	struct sl_share_ring fill, comp;
};
struct sl_share_xsk_rings {
	uint32_t xsk;
	struct sl_share_ring rx, tx;
	bool stuck; /* what is still in the transmit ring will not be sent (the link is down) */
};

/* Frames of a buried member. */
struct sl_share_left {
	uint32_t frames;    /* given back to the pool */
	uint32_t in_flight; /* with the device: a member that finds them completed adopts them */
};

/* Call at once when the member is certainly dead (all its threads: a pidfd says so). Mends what its
 * locks protect, and releases them, without waiting. q: all queues of the group. */
void sl_share_dead(struct sl_share *g, uint8_t member, const struct sl_share_rings *q, unsigned nq);
/* A dead member and its rings. The XSKs must receive no more (out of the steering map, and a grace
 * period later), and what was posted must be sent (kicked, the transmit rings are empty) or stuck.
 */
struct sl_share_grave {
	uint8_t member;
	const struct sl_share_rings *q; /* all queues of the group */
	unsigned nq;
	const struct sl_share_xsk_rings *x; /* the member's XSKs */
	unsigned nx;
};
/* Takes all frames back and frees the member's number. Call again after -EBUSY (a live member is
 * stopped inside a lock); the next broker calls it if this one dies in between. A new broker buries
 * SL_SHARE_BROKER first. */
int sl_share_bury(struct sl_share *g, const struct sl_share_grave *grave,
		  struct sl_share_left *left);
/* Takes the packets in one of the dead member's receive rings: makes the member the owner of their
 * frames and shows each packet to `late`, never twice, also if this is broken off and begun again.
 * addr and bytes are as the member or the kernel wrote them. sl_share_bury() takes more unseen. */
typedef void sl_share_late_fn(void *arg, uint64_t addr, uint32_t bytes);
void sl_share_take_rx(struct sl_share *g, uint8_t dead, const struct sl_share_xsk_rings *x,
		      sl_share_late_fn *late, void *arg);
/* Number of the member's frames in flight; how: SL_FLIGHT_*. */
uint32_t sl_share_posted(const struct sl_share *g, uint8_t member, uint8_t how);
/* Looks for completed frames of dead members on a queue that no live member may work: how many went
 * to the pool, or -EBUSY. */
int sl_share_reap(struct sl_share *g, const struct sl_share_rings *r);
/* Call when the kernel has let a closed queue go: gives the frames of its rings to the pool and
 * frees the record. How many frames, or -EBUSY: call it again later. */
int sl_share_reclaim(struct sl_share *g, uint32_t queue);

#endif
