/* SPDX-License-Identifier: BSD-2-Clause */
/* Fans move with their socket to another lane (migrate.c), if they have no other socket. */
#include "ctl/front/broker.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/fan.h"
#include "stack/leg.h"
#include "stack/port.h"

static bool has(const struct sl_fan *f, const struct sl_sock *sk)
{
	for (uint32_t i = 0; i < f->nsocks; i++)
		if (f->sock[i] == sk)
			return true;
	return false;
}

static void mark(struct sl_sock *sk, bool moving)
{
	sl_list_for_each (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (!has(f, sk))
			continue;
		sl_store(&f->moving, moving);
		sl_store_release(&f->moved, true);
	}
}

bool sl_mcast_move_begin(struct sl_sock *sk)
{
	bool may = true;

	if (!sl_lock(&sl_fans_lock))
		return false;
	sl_list_for_each (it, &sl_fans) {
		const struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		may &= !has(f, sk) || (f->nsocks == 1 && f->lane == sk->lane);
	}
	if (may)
		mark(sk, true);
	else
		sl_unlock(&sl_fans_lock);
	return may;
}

void sl_mcast_move_end(struct sl_sock *sk)
{
	mark(sk, false);
	sl_unlock(&sl_fans_lock);
}

static bool claim_to(struct sl_fan *f, struct sl_lane *lane)
{
	struct sl_port *port = sl_port_find(f->ifindex);
	struct sl_leg *leg = port ? sl_lane_leg(lane, port) : NULL;
	uint32_t before = f->req.claim.lane;

	if (!leg)
		return false;
	f->req.claim.lane = leg->first;
	if (!f->claimed || sl_broker_claim_update(&f->req) == 0)
		return true;
	f->req.claim.lane = before;
	return false;
}

bool sl_mcast_claims_to(struct sl_sock *sk, struct sl_lane *lane)
{
	bool all = true;

	sl_list_for_each (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (has(f, sk))
			all &= claim_to(f, lane);
	}
	return all;
}

void sl_mcast_change_lane(struct sl_sock *sk, struct sl_lane *lane)
{
	sl_list_for_each (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (has(f, sk))
			sl_store_release(&f->lane, lane);
	}
}
