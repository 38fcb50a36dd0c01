/* SPDX-License-Identifier: BSD-2-Clause */
/* A run: the text of one connection in several frames in a row, handed up to TCP as one segment
 * (run.c). */
#ifndef SL_RUN_H
#define SL_RUN_H

#include "net/net.h"

#define SL_RUN_MAX 47 /* pieces behind the first: more than 64 KB of usual segments */

struct sl_run_piece {
	uint32_t frame;
	uint16_t off, len; /* the text in the frame */
};

/* The pieces behind the segment in in->seg. TCP takes pieces from the front, as many as it can: it
 * adds to `at` and `done`, and the frames are its own then. What it leaves is handed up again. */
struct sl_run {
	uint16_t first; /* bytes of text in the frame of the packet itself */
	uint16_t done;  /* bytes that were handed up or taken so far */
	uint8_t at, n;  /* the next piece, and how many there are */
	uint8_t flags;  /* SL_TCP_FIN and SL_TCP_PSH belong to the last piece */
	struct sl_run_piece piece[SL_RUN_MAX];
};

/* Begins a run with the frames of the current packet, and appends those of another one. Both take
 * the frames behind the packet's first. */
void sl_run_begin(struct sl_run *r, struct sl_in *in);
void sl_run_append(struct sl_run *r, struct sl_in *in);
/* True: sl_run_append() has room for the current packet. */
bool sl_run_has_room(const struct sl_run *r, const struct sl_in *in);
/* Like sl_in_dispatch() for the run that begins in in->frame; in->seg: its header, with the bytes
 * and the last flags of all. Keeps or frees the frames of its pieces. */
bool sl_run_dispatch(const struct sl_slot *s, struct sl_in *in, struct sl_run *r);
/* sl_run_dispatch() for a packet in several frames (in->bufs), whose frames it takes. */
bool sl_run_packet(const struct sl_slot *s, struct sl_in *in);
/* Frees the frames of the pieces. */
void sl_run_drop(struct sl_run *r, struct sl_in *in);

/* False: the slot's object has ended, as any segment may end it. gen: the slot's when the segment
 * came. */
static inline bool sl_run_is_still(const struct sl_slot *s, uint32_t gen)
{
	return sl_load_acquire(&s->gen) == gen && sl_load(&s->kind) != SL_SLOT_FREE;
}

#endif
