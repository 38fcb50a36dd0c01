/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane receives by a queue of the NIC (verbs), and the broker's claims become rules of it. */
#include "stack/nic_rx.h"

#include <errno.h>

#include "base/log.h"
#include "base/settings.h"
#include "ctl/front/broker.h"
#include "ctl/steer/nic_rule.h"
#include "io/verbs_rx.h"
#include "stack/lane.h"
#include "stack/port.h"

/* A lane's leg on a device. */
struct find {
	uint32_t ifindex, lane;
	struct sl_leg *leg; /* NULL: none */
};

static void look(struct sl_lane *lane, void *arg)
{
	struct find *f = arg;
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n && lane->id == f->lane; i++) {
		struct sl_leg *leg = sl_load_acquire(&lane->leg[i]);

		if (!leg->below && !leg->is_class &&
		    sl_load_acquire(&leg->port)->info.ifindex == f->ifindex)
			f->leg = leg;
	}
}

static struct sl_leg *find_leg(uint32_t ifindex, uint32_t lane)
{
	struct find f = {.ifindex = ifindex, .lane = lane};

	sl_lane_for_each(look, &f);
	return f.leg;
}

static int rule_add(uint32_t ifindex, const struct sl_nic_rule *r, uint64_t *id, const char **why)
{
	struct sl_leg *leg = find_leg(ifindex, r->lane);
	struct sl_verbs_rule rule = {
		.key = r->key,
		.narrow = r->narrow,
		.claim = r->claim,
		.n = r->n,
		.priority = r->priority,
		.vxlan_port = r->vxlan_port,
	};
	int saved = errno, err;

	if (!leg) {
		*why = "the receive queue is closed";
		return -ENODEV;
	}
	memcpy(rule.mac, r->mac, sizeof(rule.mac));
	err = sl_verbs_rule_add(&leg->xsk[0], &rule, id, why);
	errno = saved;
	return err;
}

static int rule_move(uint32_t ifindex, uint32_t lane, uint64_t id, const struct sl_claim *claim,
		     uint32_t n)
{
	struct sl_leg *leg = find_leg(ifindex, lane);

	return leg ? sl_verbs_rule_move(&leg->xsk[0], id, claim, n) : 0;
}

static void rule_del(uint32_t ifindex, uint32_t lane, uint64_t id)
{
	struct sl_leg *leg = find_leg(ifindex, lane);
	int saved = errno;

	if (leg)
		sl_verbs_rule_del(&leg->xsk[0], id);
	errno = saved;
}

void sl_nic_rx_init(void)
{
	static const struct sl_nic_ops ops = {
		.may = sl_verbs_rx_may,
		.add = rule_add,
		.move = rule_move,
		.del = rule_del,
	};

	sl_nic_ops = &ops;
}

/* The kernel's connections of a claimed listener, and other flows that are let pass. */
static void pass(uint32_t ifindex, const void *ip, size_t bytes)
{
	(void)sl_broker_inject(-1, ip, bytes, ifindex);
}

static uint32_t depth_of(void)
{
	uint32_t depth = 64, most = sl_min((uint32_t)sl_settings.rx_wre, sl_pool.nframes / 4);

	while (2 * depth <= most)
		depth *= 2;
	return depth;
}

int sl_leg_open_rx(struct sl_leg *leg, const char **why)
{
	const struct sl_port_info *port = &leg->port->info;
	struct sl_verbs_rx_want want = {
		.ifindex = port->ifindex,
		.ifname = port->ifname,
		.depth = depth_of(),
		.frames = &leg->lane->frames,
		.pass = pass,
	};
	int err;

	if (!(port->flags & SL_PORT_VERBS))
		return 0;
	err = sl_verbs_rx_open(&leg->xsk[0], &want, why);
	if (!err)
		sl_info("lane", "lane %u receives on %s by verbs (%s, %u buffers)", leg->lane->id,
			port->ifname, want.name, want.depth);
	return err;
}

struct dead_walk {
	const struct sl_port *port;
	const char *why;
};

static void look_dead(struct sl_lane *lane, void *arg)
{
	struct dead_walk *w = arg;
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n && !w->why; i++) {
		struct sl_leg *leg = sl_load_acquire(&lane->leg[i]);

		if (leg->port == w->port && leg->nqueues)
			w->why = sl_verbs_rx_dead(&leg->xsk[0]);
	}
}

const char *sl_nic_rx_dead(const struct sl_port *port)
{
	struct dead_walk w = {.port = port};

	if (port->info.flags & SL_PORT_VERBS)
		sl_lane_for_each(look_dead, &w);
	return w.why;
}
