/* SPDX-License-Identifier: BSD-2-Clause */
/* Retires a port whose device no longer exists, so that another device can use its place.
 *
 * Theory of operation: a device that is deleted and made again (a container's, a tunnel's) is a
 * new device each time, and a long-running process would fill its table of ports, its lanes' legs,
 * and the devices of its lease. So a port is retired once its connections have moved, no claim is
 * left on it, and no VLAN device uses it: the lanes' rings are closed, the broker's resources are
 * given up, and the next device takes its place. Nothing is freed that another thread may still
 * use: the next device reuses the port's object, and a closed leg stays as a dead leg of the port
 * `nowhere`, which drops what is still sent by it (leg_open.c). */

#include <errno.h>

#include "base/log.h"
#include "stack/lane.h"
#include "stack/leg_open.h"
#include "stack/port.h"
#include "stack/retire.h"

static bool is_below_another(const struct sl_port *p)
{
	struct sl_port *q;

	for (uint32_t i = 0; (q = sl_port_at(i)); i++)
		if (q->base == p && !q->retired)
			return true;
	return false;
}

bool sl_port_may_retire(const struct sl_port *p)
{
	if (p->retired || sl_load(&p->stats->alive))
		return false;
	if (p->base) /* its queues are those of the port below */
		return !p->info.ifindex && p->base->emptied;
	return p->emptied && !is_below_another(p);
}

/* VLAN ports are retired before the ports that they use. */
static void retire_all(bool vlans)
{
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		if (!p->base != !vlans || p->retired)
			continue;
		sl_port_retire(p);
		(void)sl_lanes_leave(p); /* closes a leg that another thread had begun to open */
	}
}

void sl_ports_leave(void)
{
	sl_ports_close(true);
	retire_all(true);
	retire_all(false);
}

void sl_port_retire(struct sl_port *p)
{
	struct sl_port_stats *stats = p->stats;
	uint32_t ifindex = p->base ? 0 : p->info.ifindex;
	const struct sl_rule *rules = p->info.rules;

	if (!sl_lanes_leave(p))
		return;
	sl_debug("port", "%s, device %u: its place is free", p->info.ifname, p->lower);
	sl_port_vlan_over(p);
	sl_store(&p->info.ifindex, 0);
	sl_store(&p->info.rules, NULL);
	sl_store(&p->info.rules_rw, NULL);
	sl_store(&p->info.paces, NULL);
	sl_store_release(&p->stats, sl_port_nowhere.stats);
	sl_stats_port_free(stats);
	if (ifindex)
		sl_broker_port_close(ifindex, rules);
	sl_store_release(&p->retired, true);
}
