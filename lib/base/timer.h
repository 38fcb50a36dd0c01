/* SPDX-License-Identifier: BSD-2-Clause */
/* A hierarchical timing wheel: arming, cancelling and expiring are O(1) for each timer, whatever
 * their number. It reads no clock: callers pass the time. Used under its owner's lock. */
#ifndef SL_TIMER_H
#define SL_TIMER_H

#include "base/list.h"

#define SL_WHEEL_TICK_US 64u /* resolution: a timer is never early, and at most one tick late */
#define SL_WHEEL_BITS    6
#define SL_WHEEL_SLOTS   (1u << SL_WHEEL_BITS)
#define SL_WHEEL_LEVELS  6 /* 64 us * 64^6: beyond 50 days; later timers are put off */

struct sl_timer {
	struct sl_list node;
	uint64_t at_tick;
};

struct sl_wheel {
	uint64_t now_tick;   /* everything up to it has expired */
	uint64_t soonest_us; /* nothing is due before; see sl_wheel_soonest_us() */
	uint32_t armed;
	struct sl_list due;             /* armed for a time that had passed: at the next run */
	uint64_t used[SL_WHEEL_LEVELS]; /* a bit for each slot that is not empty */
	struct sl_list slot[SL_WHEEL_LEVELS][SL_WHEEL_SLOTS];
};

void sl_wheel_init(struct sl_wheel *w, uint64_t now_us);

static inline void sl_timer_init(struct sl_timer *t)
{
	sl_list_init(&t->node);
}
static inline bool sl_timer_is_armed(const struct sl_timer *t)
{
	return !sl_list_empty(&t->node);
}
/* Arms or moves the timer. If its time has passed it expires at the next run. */
void sl_timer_arm(struct sl_wheel *w, struct sl_timer *t, uint64_t at_us);
void sl_timer_cancel(struct sl_wheel *w, struct sl_timer *t);

/* Disarms each timer that is due and calls fire for it; fire may arm and cancel any timer. Returns
 * how many fired. */
unsigned sl_wheel_run(struct sl_wheel *w, uint64_t now_us,
		      void (*fire)(struct sl_timer *t, void *arg), void *arg);
/* When sl_wheel_run() needs to be called next at the latest (it may then find nothing due yet);
 * UINT64_MAX: nothing is armed. */
uint64_t sl_wheel_next_us(const struct sl_wheel *w);
/* Like sl_wheel_next_us() without a search: a timer cancelled since the last run still counts. */
static inline uint64_t sl_wheel_soonest_us(const struct sl_wheel *w)
{
	return w->soonest_us;
}

#endif
