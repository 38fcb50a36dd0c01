/* SPDX-License-Identifier: BSD-2-Clause */
/* Delivers packets to sockets of other lanes, after the lane that received them is released: a
 * thread never holds two lanes. */
#include <string.h>

#include "net/net.h"
#include "stack/lane.h"

void sl_lane_cross(struct sl_lane *from, struct sl_lane *to, uint32_t slot, const struct sl_in *in,
		   bool after)
{
	struct sl_cross *c;

	if (!from->cross || from->ncross == from->max_cross) {
		from->stats->rx_no_frames++;
		return;
	}
	c = &from->cross[from->ncross++];
	c->lane = to;
	c->slot = slot;
	c->after = after;
	c->gen = sl_load(&sl_slots[slot].gen);
	memcpy(&c->in, in, offsetof(struct sl_in, seg)); /* no TCP: it is on one lane only */
	sl_in_ref(in);
	from->stats->rx_crossed++;
}

void (*sl_lane_catch_up)(struct sl_lane *lane);

static void cross_deliver(struct sl_cross *c)
{
	const struct sl_slot *s = &sl_slots[c->slot];
	bool kept = false;

	if (!sl_lane_lock(c->lane))
		return; /* a signal handler inside the other lane's turn: only this frame's
			   reference leaks */
	if (c->after)
		sl_lane_catch_up(c->lane);
	c->in.cache = &c->lane->frames;
	c->in.lane = c->lane;
	c->in.stats = c->lane->stats;
	c->in.slot = c->slot;
	if (sl_load_acquire(&s->gen) == c->gen &&
	    (s->kind == SL_SLOT_UDP || s->kind == SL_SLOT_FAN))
		kept = sl_in_dispatch(s, &c->in);
	if (!kept)
		sl_in_put(&c->in);
	sl_lane_unlock(c->lane);
}

/* Delivers cross, one thread at a time, since packets taken off the list later must not arrive
 * first. This thread also delivers what is added meanwhile. */
void sl_lane_cross_flush(struct sl_lane *lane)
{
	struct sl_cross some[4]; /* (each has a few hundred bytes) */
	uint32_t n;

	if (lane->crossing) {
		sl_unlock(&lane->lock);
		return;
	}
	lane->crossing = true;
	while (lane->ncross) {
		n = sl_min(lane->ncross, (uint32_t)sl_array_len(some));
		memcpy(some, lane->cross, n * sizeof(some[0]));
		lane->ncross -= n;
		memmove(lane->cross, lane->cross + n, lane->ncross * sizeof(some[0]));
		sl_unlock(&lane->lock);
		for (uint32_t i = 0; i < n; i++)
			cross_deliver(&some[i]);
		sl_lock(&lane->lock);
	}
	lane->crossing = false;
	sl_unlock(&lane->lock);
}
