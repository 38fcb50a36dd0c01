/* SPDX-License-Identifier: BSD-2-Clause */
/* Fake wire: two ends in memory, with loss, delay, reordering, duplication and damage by seed. */
#ifndef SL_LOOP_H
#define SL_LOOP_H

#include "io/io.h"

#define SL_LOOP_HEADROOM 256 /* free bytes before a received packet, as XDP has */

/* The properties of a direction. Chances are in parts per million; the same seed gives the same
 * packets the same fate. May be changed at any time. */
struct sl_loop_path {
	uint32_t loss_ppm;
	uint32_t dup_ppm;
	uint32_t reorder_ppm; /* packets that come reorder_ns late */
	uint32_t corrupt_ppm; /* packets with one bit flipped */
	uint64_t delay_ns;
	uint64_t jitter_ns; /* added to delay_ns: 0 to this, evenly */
	uint64_t reorder_ns;
	/* Stands for the steering program: writes its record in front of the packet that arrived
	 * (SL_LOOP_HEADROOM bytes are there). False: not for this end. NULL: no record. */
	bool (*steer)(void *arg, uint8_t *pkt, uint16_t len);
	void *steer_arg;
};

/* A frame under way. */
struct sl_loop_pkt {
	uint64_t due_ns;
	struct sl_rx_desc desc;
};

/* An end of the wire. A lane uses rx and tx. */
struct sl_loop_end {
	struct sl_rx rx;
	struct sl_tx tx;
	struct sl_loop_path path; /* properties of the way from this end */
	struct sl_loop *loop;
	struct sl_loop_end *peer;
	uint64_t rng;
	struct sl_loop_pkt *way; /* packets to this end, by arrival; first..last are used */
	uint32_t first, last;
	uint32_t *fill; /* frames to receive into */
	uint32_t nfill;
	uint32_t *comp; /* frames that were sent */
	uint32_t ncomp;
	bool down; /* nothing can be sent now: kick says -ENETDOWN */
	bool gone; /* nothing can be sent ever again: kick says -ENXIO */
	/* counters of the packets that this end sent */
	uint64_t sent, lost, doubled, late, damaged;
	uint64_t refused;   /* not steered to the peer */
	uint64_t no_frames; /* the peer had none to receive into */
};

struct sl_loop {
	struct sl_loop_end end[2];
	uint32_t depth;  /* entries of each ring */
	uint64_t now_ns; /* set by the caller */
};

/* Makes the wire over the frame pool; both directions start perfect and without delay. depth:
 * frames of each ring (receive and transmit). 0 or -ENOMEM. */
int sl_loop_init(struct sl_loop *l, uint32_t depth, uint64_t seed);
/* Gives every frame back. */
void sl_loop_fini(struct sl_loop *l, struct sl_frames *cache);

/* Sets the time; an earlier one than before is ignored. Nothing arrives before it is due. */
void sl_loop_set_now(struct sl_loop *l, uint64_t now_ns);
/* When the next packet arrives at either end; UINT64_MAX: nothing is under way. */
uint64_t sl_loop_next_ns(const struct sl_loop *l);

#endif
