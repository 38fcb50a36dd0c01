/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends the packets that wait for their time before the process has ended. */
#include "base/clock.h"
#include "base/sys.h"
#include "io/verbs.h"
#include "stack/pace_int.h"

#define EXIT_NS 1000000000ull

static void flush_lane(struct sl_lane *lane, void *arg)
{
	(void)arg;
	if (!sl_lane_lock(lane))
		return;
	sl_list_for_each_safe (it, &lane->pace->pacers) {
		sl_pacer_flush(sl_container_of(it, struct sl_pacer, node));
	}
	sl_lane_unlock(lane);
}

static void turn(struct sl_lane *lane, void *arg)
{
	bool *any = arg;

	if (!sl_lane_lock(lane))
		return;
	sl_lane_turn_locked(lane);
	sl_lane_reap(lane);
	sl_list_for_each (it, &lane->pace->pacers) {
		const struct sl_pacer *p = sl_container_of(it, struct sl_pacer, node);

		*any |= p->waiting || (p->nic && !sl_verbs_is_idle(p->nic));
	}
	sl_lane_unlock(lane);
}

/* Makes turns until nothing waits, for at most most_ns. True: nothing waits. */
static bool drain(uint64_t most_ns)
{
	uint64_t end_ns = sl_now_ns() + most_ns;
	struct timespec some = {0, 100000};
	bool any;

	for (;;) {
		any = false;
		sl_lane_for_each(turn, &any);
		if (!any || sl_now_ns() > end_ns)
			return !any;
		sl_sys(SYS_nanosleep, &some, NULL);
	}
}

void sl_pace_exit(void)
{
	if (!sl_pace_is_used() || drain(EXIT_NS))
		return;
	sl_lane_for_each(flush_lane, NULL);
	drain(EXIT_NS / 4);
}
