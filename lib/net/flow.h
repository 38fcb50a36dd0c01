/* SPDX-License-Identifier: BSD-2-Clause */
/* From packet to socket: the steering program hands over a slot number, one array index. */
#ifndef SL_FLOW_H
#define SL_FLOW_H

#include "base/base.h"

enum sl_slot_kind {
	SL_SLOT_FREE,
	SL_SLOT_UDP,
	SL_SLOT_FAN,        /* several UDP sockets */
	SL_SLOT_TCP,        /* one connection with a flow of its own */
	SL_SLOT_TCP_LISTEN, /* a listener, and its connections without a flow of their own */
	SL_SLOT_KINDS
};

static inline bool sl_slot_is_tcp(uint32_t kind)
{
	return kind == SL_SLOT_TCP || kind == SL_SLOT_TCP_LISTEN;
}

struct sl_slot {
	uint32_t gen;  /* changes when the slot is freed, so that packets under way for it are
			  dropped */
	uint32_t kind; /* enum sl_slot_kind */
	void *obj;     /* argument of the handler */
};
extern struct sl_slot *sl_slots;
extern uint32_t sl_nslots; /* slots that may be read; grows. Read with sl_load() */

/* Reserves address space for max slots (memory is used on demand). In a child of fork: empties the
 * parent's slots. 0 or -ENOMEM. */
int sl_slots_init(uint32_t max);
/* Takes a free slot, which the caller fills by sl_slot_set(). -ENOSPC: none is free, or no memory.
 * Any thread. */
int sl_slot_new(void);
/* obj must be complete: readers use it as soon as kind is set. */
void sl_slot_set(uint32_t slot, enum sl_slot_kind kind, void *obj);
/* Frees the slot; packets under way for it are dropped. No lane may be using obj. */
void sl_slot_free(uint32_t slot);

/* A protocol's input function for objects of its kind. True: it keeps the frame. */
struct sl_in;
typedef bool (*sl_in_handler)(void *obj, struct sl_in *in);
/* Call once for each kind, before packets come. */
void sl_in_register(enum sl_slot_kind kind, sl_in_handler handler);
extern sl_in_handler sl_in_handlers[SL_SLOT_KINDS];

/* Calls the handler of the slot's kind. Inline: each packet passes here. */
static inline bool sl_in_dispatch(const struct sl_slot *s, struct sl_in *in)
{
	sl_in_handler handler = sl_in_handlers[sl_load(&s->kind)]; /* NULL for a free slot */

	return handler && handler(s->obj, in);
}

#endif
