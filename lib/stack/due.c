/* SPDX-License-Identifier: BSD-2-Clause */
/* When the keeper must be awake for a lane: TCP timers, paced packets, hardware stamps that a
 * caller waits for, senders that wait for room, a NIC queue that may fail.
 *
 * Theory of operation: tcp_next_us, pace_next_us and room_next_us say when something must be done
 * at the latest. They are lower bounds, so arming and cancelling a timer again and again costs one
 * compare. A thread that arms a timer due before the keeper's sleep ends wakes the keeper; both
 * sides write before they read (Dekker). */
#include "base/clock.h"
#include "net/rtnl.h"
#include "stack/due.h"

#define AWAIT_US  1000    /* longest that the keeper leaves a hardware stamp unread */
#define EXPECT_US 100     /* longest that it leaves unseen what a connection waits for */
#define WATCH_US  1000000 /* longest that it leaves a queue with packets under way unchecked */

static uint64_t asleep_until_us; /* end of the keeper's sleep; 0: awake */

void sl_lane_due(uint64_t *next, uint64_t next_us, uint64_t late_us)
{
	if (sl_likely(next_us >= *next))
		return;
	sl_store(next, next_us);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (sl_unlikely(next_us + late_us < sl_load(&asleep_until_us)))
		sl_rtnl_wake();
}

void sl_lane_await(struct sl_lane *lane)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (sl_now_ns() / 1000 + AWAIT_US < sl_load(&asleep_until_us))
		sl_rtnl_wake();
}

void sl_lane_watch(struct sl_lane *lane)
{
	sl_store(&lane->watched, true);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (sl_now_ns() / 1000 + WATCH_US < sl_load(&asleep_until_us))
		sl_rtnl_wake();
}

void sl_lane_expect(const struct sl_lane *lane)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!sl_load(&lane->attended) && !sl_load(&lane->sleepers) &&
	    sl_now_ns() / 1000 + EXPECT_US < sl_load(&asleep_until_us))
		sl_rtnl_wake();
}

static uint64_t next_of(const struct sl_lane *lane)
{
	uint64_t pace_us = sl_lane_is_paced(lane) ? sl_load(&lane->pace_next_us) : UINT64_MAX;

	uint64_t next_us = sl_min(pace_us, sl_load(&lane->room_next_us));

	if (sl_unlikely(sl_load(&lane->stamps)))
		return 0;
	return sl_load_acquire(&lane->tcp) ? sl_min(next_us, sl_load(&lane->tcp_next_us)) : next_us;
}

bool sl_lane_is_due(const struct sl_lane *lane, uint64_t at_us)
{
	return next_of(lane) <= at_us;
}

struct nearest {
	uint64_t next_us, turned_us, watch_us;
};

static void nearest(struct sl_lane *lane, void *arg)
{
	struct nearest *n = arg;
	uint64_t next_us = next_of(lane);

	if (lane->turned && !sl_lane_is_paced(lane) && !sl_load(&lane->stamps))
		next_us = sl_max(next_us, n->turned_us);
	if (sl_load(&lane->expects) && !lane->attended && !sl_load(&lane->sleepers))
		next_us = 0;
	if (sl_load(&lane->watched))
		next_us = sl_min(next_us, n->watch_us);
	n->next_us = sl_min(n->next_us, next_us);
}

uint64_t sl_lanes_sleep(uint64_t until_us, uint64_t least_us, uint64_t turned_us, uint64_t watch_us)
{
	struct nearest n = {.next_us = until_us, .turned_us = turned_us, .watch_us = watch_us};

	sl_store(&asleep_until_us, UINT64_MAX);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sl_lane_for_each(nearest, &n);
	until_us = sl_max(n.next_us, least_us);
	sl_store(&asleep_until_us, until_us);
	return until_us;
}

void sl_lanes_awake(void)
{
	sl_store(&asleep_until_us, 0);
}

void sl_lanes_due_child(void)
{
	asleep_until_us = 0;
}
