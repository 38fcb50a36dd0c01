/* SPDX-License-Identifier: BSD-2-Clause */
/* At the end of a program: packets that wait for their time are sent, then what was sent leaves
 * before the device is closed.
 *
 * In zero-copy mode the driver takes a packet off the ring when its interrupt comes. A device that
 * restarts when the steering program is detached (igb) loses the packets it still has, which
 * kernel sockets would have sent. In copy mode the kick has already given them to the driver. */
#include <time.h>

#include "base/clock.h"
#include "base/share/share_bury.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "io/verbs.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/pace_int.h"
#include "stack/port.h"

#define PACED_NS 1000000000ull
#define EXIT_NS  50000000ull /* a device without a link sends nothing */

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
	if (!sl_pace_is_used() || drain(PACED_NS))
		return;
	sl_lane_for_each(flush_lane, NULL);
	drain(PACED_NS / 4);
}

static void push(struct sl_lane *lane, void *arg)
{
	bool *any = arg;

	if (!sl_lane_trylock(lane))
		return;
	for (uint32_t i = 0; i < lane->nlegs; i++) {
		struct sl_leg *leg = lane->leg[i];

		if (!leg || leg->dead || !(leg->nqueues || leg->is_class) ||
		    !(leg->port->info.flags & SL_PORT_ZEROCOPY))
			continue;
		leg->tx->ops->kick(leg->tx);
		sl_tx_reap(leg->tx, &lane->frames);
		*any = true;
	}
	sl_lane_unlock(lane);
}

void sl_lanes_depart(void)
{
	uint64_t end_ns = sl_now_ns() + EXIT_NS;
	struct timespec some = {.tv_nsec = 100000};

	while (sl_share_posted(&sl_pool.share, sl_pool.me, SL_FLIGHT_XSK) && sl_now_ns() < end_ns) {
		bool any = false;

		sl_lane_for_each(push, &any);
		if (!any)
			break;
		sl_sys(SYS_nanosleep, &some, NULL);
	}
}
