/* SPDX-License-Identifier: BSD-2-Clause */
/* At the end of a program: wait until what it has sent has left, before the device is closed.
 *
 * In zero-copy mode the driver takes a packet off the ring when its interrupt comes. A device that
 * restarts when the steering program is detached (igb) loses the packets it still has, which
 * kernel sockets would have sent. In copy mode the kick has already given them to the driver. */
#include <time.h>

#include "base/clock.h"
#include "base/share/share_bury.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/port.h"

#define EXIT_NS 50000000ull /* a device without a link sends nothing */

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
