/* SPDX-License-Identifier: BSD-2-Clause */
/* Retires a port whose device no longer exists, so that another device can use its place, or whose
 * steering has ended, so that the device can be opened anew.
 *
 * Theory of operation: a device that is deleted and made again (a container's, a tunnel's) is a
 * new device each time, and a long-running process would fill its table of ports, its lanes' legs,
 * and the devices of its lease. So a port is retired once its connections have moved, no claim is
 * left on it, and no VLAN device uses it: the lanes' rings are closed, the broker's resources are
 * given up, and the next device takes its place. Nothing is freed that another thread may still
 * use: the next device reuses the port's object, and a closed leg stays as a dead leg of the port
 * `nowhere`, which drops what is still sent by it (leg_open.c).
 *
 * A device that has lost its steering program, or has other queues now, is taken into use again as
 * soon as it has no connection left here and its port has retired. Others may have it then: that is
 * tried again, ever more seldom (refused.c), until it succeeds, cannot succeed any more, or the
 * device has gone. While the link is down nothing is tried; sockets that come back open it. */

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "stack/lane.h"
#include "stack/leg_open.h"
#include "stack/nic_rx.h"
#include "stack/port.h"
#include "stack/retire.h"

#define LOST_MOST 16

/* Devices to open anew; the keeper's. */
static uint32_t lost[LOST_MOST];

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
	if (is_below_another(p))
		return false;
	if (p->base) /* its queues are those of the port below */
		return sl_port_is_lost(p) || (!p->info.ifindex && p->base->emptied);
	return p->emptied || p->lost;
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
	if (ifindex) {
		sl_nic_rx_close(ifindex);
		sl_broker_port_close(ifindex, rules);
	}
	sl_store_release(&p->retired, true);
}

/* Devices that are opened anew ------------------------------------------------------------------
 */

void sl_lost_add(uint32_t ifindex)
{
	unsigned i = 0;

	while (i < LOST_MOST - 1 && lost[i] && lost[i] != ifindex)
		i++;
	lost[i] = ifindex;
}

bool sl_lost_any(void)
{
	for (unsigned i = 0; i < LOST_MOST; i++)
		if (lost[i])
			return true;
	return false;
}

bool sl_lost_open(void)
{
	bool opened = false;
	struct sl_link link;

	for (unsigned i = 0; i < LOST_MOST; i++) {
		if (!lost[i])
			continue;
		if (!sl_link_get(lost[i], &link) || !sl_port_allowed(&link) ||
		    sl_port_is_hopeless(lost[i])) {
			lost[i] = 0;
		} else if (sl_port_open(lost[i])) {
			lost[i] = 0;
			opened = true;
		}
	}
	return opened;
}

void sl_lost_child(void)
{
	memset(lost, 0, sizeof(lost));
}
