/* SPDX-License-Identifier: BSD-2-Clause */
/* When the keeper must be awake for a lane: TCP timers, paced packets, hardware stamps that a
 * caller waits for, senders that wait for room, a NIC queue that may fail.
 *
 * Theory of operation: tcp_next_us, pace_next_us and room_next_us say when something must be done
 * at the latest. They are lower bounds, so arming and cancelling a timer again and again costs one
 * compare. A thread that arms a timer due before the keeper's sleep ends wakes the keeper; both
 * sides write before they read (Dekker).
 *
 * With SLUICE_TCP_CTL_THREAD handshakes are left to the keeper, too: a program's thread that turns
 * a lane only notes segments of listeners that belong to no connection; the keeper delivers them,
 * in their order, before it makes a turn. What a note is about may be gone by then, so its slot's
 * generation is compared. A connection exists once the keeper has delivered the last segment of its
 * handshake, so its data cannot overtake that: until then they wait in the same list. Whoever
 * cannot note a segment first delivers all that wait. */
#include "stack/due.h"

#include "base/clock.h"
#include "base/heap.h"
#include "net/flow.h"
#include "net/rtnl.h"

#define AWAIT_US  1000    /* longest that the keeper leaves a hardware stamp unread */
#define EXPECT_US 100     /* longest that it leaves unseen what a connection waits for */
#define WATCH_US  1000000 /* longest that it leaves a queue with packets under way unchecked */

#define LATER_MOST 256 /* segments that wait for the keeper */

__thread bool sl_here_is_keeper __attribute__((tls_model("initial-exec")));

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

	next_us = sl_min(next_us, sl_load(&lane->later_us));

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

	if (lane->turned && !sl_lane_is_paced(lane) && !sl_load(&lane->stamps) &&
	    sl_load(&lane->later_us) == UINT64_MAX)
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

/* Left to the keeper -------------------------------------------------------------------------- */

struct sl_later {
	bool delivering;
	uint32_t n;
	struct {
		uint32_t gen;
		struct sl_in in;
	} seg[LATER_MOST];
};

void sl_lane_deliver_later(struct sl_lane *lane)
{
	struct sl_later *l = lane->later;

	l->delivering = true;
	for (uint32_t i = 0; i < l->n; i++) {
		struct sl_in *in = &l->seg[i].in;
		const struct sl_slot *s = &sl_slots[in->slot];
		bool kept = false;

		if (sl_load_acquire(&s->gen) == l->seg[i].gen && s->kind == SL_SLOT_TCP_LISTEN)
			kept = sl_in_dispatch(s, in);
		if (!kept)
			sl_in_put(in);
	}
	l->n = 0;
	l->delivering = false;
	sl_store(&lane->later_us, UINT64_MAX);
}

static bool make(struct sl_lane *lane)
{
	if (!lane->later)
		lane->later = sl_calloc(1, sizeof(*lane->later));
	return lane->later != NULL;
}

bool sl_lane_later(struct sl_lane *lane, struct sl_in *in)
{
	uint64_t wait_us = (uint64_t)sl_settings.timer_resolution_msec * 1000;
	struct sl_later *l;

	if (!make(lane) || lane->later->delivering)
		return false;
	l = lane->later;
	if (sl_here_is_keeper || in->run || in->bufs || l->n == LATER_MOST) {
		if (l->n)
			sl_lane_deliver_later(lane);
		lane->stats->tcp_ctl_segs += sl_here_is_keeper;
		return false;
	}
	l->seg[l->n].gen = sl_load(&sl_slots[in->slot].gen);
	l->seg[l->n].in = *in;
	l->seg[l->n].in.gro = NULL;
	if (l->n++ == 0)
		sl_lane_due(&lane->later_us,
			    sl_now_ns() / 1000 +
				    (sl_settings.tcp_ctl_thread == SL_CTL_NO_WAKEUP ? wait_us : 0),
			    0);
	lane->stats->tcp_ctl_segs++;
	return true;
}
