/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds the memory that users can have the daemon hold.
 *
 * Theory of operation: claims, lanes and devices cost the daemon memory, its own and the kernel's,
 * which is charged to its control group. Beyond that group's limit the kernel would kill the
 * daemon. So a user holds at most as much as is left: the first one gets half, and each further one
 * half of the rest, so none can take all. The last RESERVE bytes are for what the daemon does
 * itself, as to bury the dead and to go on with their connections. Where no limit is set a user has
 * as many claims as a steering table has places.
 *
 * To read the limit takes some 0.1 ms. The daemon subtracts what it has given since from the value
 * that it has read last, and reads again when that is an eighth, or a second old. */
#include <errno.h>

#include "base/clock.h"
#include "base/settings.h"
#include "ctl/kern/memcg.h"
#include "ctl/kern/say.h"
#include "ctl/lease/proto.h"
#include "session.h"
#include "sluiced.h"

#define RESERVE    (3ull << 20)
#define OLD_NS     1000000000ull
#define CLAIM      768u /* bytes: its entry in the steering table, its place here, its watch */
#define LANE       (160u << 10)
#define DEVICE     (256u << 10)
#define CONNECTION 65536u

static uint64_t room = UINT64_MAX, given, read_ns;

static uint64_t cost_of(uint32_t op)
{
	switch (op) {
	case SL_LEASE_CLAIM:
		return CLAIM;
	case SL_LEASE_LANE_OPEN:
		return LANE;
	case SL_LEASE_PORT_OPEN:
	case SL_LEASE_UMEM:
		return DEVICE;
	case SL_LEASE_HELLO:
		return CONNECTION;
	default:
		return 0;
	}
}

/* Bytes that the daemon holds for all sessions of that user; *claims: the number of their claims.
 */
static uint64_t held_by(uint32_t uid, uint64_t *claims)
{
	uint64_t bytes = 0;

	*claims = 0;
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next) {
		if (s->cred.uid != uid)
			continue;
		*claims += s->held.n;
		bytes += CONNECTION + (uint64_t)s->nlanes * LANE + (uint64_t)s->held.n * CLAIM;
	}
	return bytes;
}

static uint64_t room_left(void)
{
	uint64_t now = sl_now_ns();

	if (!read_ns || given > room / 8 || now - read_ns > OLD_NS) {
		room = sl_memcg_room();
		given = 0;
		read_ns = now;
	}
	return room - sl_min(room, given);
}

int sl_room_check(const struct sl_session *s, uint32_t op, const char **why)
{
	uint64_t cost = cost_of(op), most, left, held, claims;

	if (!cost || !s->cred.uid)
		return 0;
	most = sl_settings.max_flows ? (uint64_t)sl_max(sl_settings.max_flows, 1024) : SL_MAX_FLOWS;
	left = room_left();
	held = held_by(s->cred.uid, &claims);
	if (op == SL_LEASE_CLAIM && claims >= most) {
		sl_why(why,
		       "user %u has %llu flows on all leases, as many as the steering table has places",
		       s->cred.uid, (unsigned long long)claims);
		return -EDQUOT;
	}
	if (left < RESERVE + cost || held + cost > left - RESERVE) {
		sl_why(why,
		       "the daemon's memory control group has %llu KB left, and holds %llu KB for "
		       "user %u; remedy: a higher limit",
		       (unsigned long long)left >> 10, (unsigned long long)held >> 10, s->cred.uid);
		return -EDQUOT;
	}
	given += cost;
	return 0;
}
