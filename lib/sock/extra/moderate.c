/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets how often a ring's device interrupts. */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "ctl/kern/ethtool.h"
#include "sluice_extra.h"
#include "sock/core/sock.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/port.h"

struct search {
	int ring;
	char name[IFNAMSIZ]; /* of its device; empty: not found */
};

static bool has_ring(const struct sl_leg *leg, int ring)
{
	for (uint32_t q = 0; q < leg->nqueues; q++)
		if (leg->xsk[q].fd == ring || sl_load_acquire(&leg->xsk[q].rx_fd) == ring)
			return true;
	return false;
}

static void search(struct sl_lane *lane, void *arg)
{
	struct search *s = arg;
	uint32_t legs = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < legs; i++)
		if (has_ring(lane->leg[i], s->ring))
			memcpy(s->name, lane->leg[i]->port->info.ifname, sizeof(s->name));
}

SL_API
int sl_ring_moderate(int ring, uint32_t packets, uint32_t us)
{
	const struct sl_coalesce c = {packets, us};
	struct search s = {.ring = ring};

	if (ring <= 0) /* (0: a queue without a packet socket) */
		return -EINVAL;
	sl_lane_for_each(search, &s);
	return s.name[0] ? sl_coalesce_set(s.name, &c) : -EINVAL;
}
