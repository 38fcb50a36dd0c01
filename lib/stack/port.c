/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports: devices taken into use, once each for the process. */
#include "stack/stack.h"

#include <errno.h>
#include <fnmatch.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/settings.h"
#include "ctl/conf.h"

static struct sl_lock lock; /* ports are opened one at a time */
static struct sl_port *ports[SL_STATS_PORTS];
static uint32_t nports;
static uint32_t refused[64]; /* devices that could not be opened; 0: free */

/* SLUICE_DEVICES: globs separated by commas, the last one that matches decides, ! excludes. */
static bool configured(const char *name)
{
	char list[sizeof(sl_settings.devices)], *save = NULL;
	bool ok = false;

	memcpy(list, sl_settings.devices, sizeof(list));
	if (list[0] == '!')
		ok = true;
	for (char *g = strtok_r(list, ", ", &save); g; g = strtok_r(NULL, ", ", &save)) {
		bool not = *g == '!';

		if (fnmatch(g + not, name, 0) == 0)
			ok = !not ;
	}
	return ok;
}

bool sl_port_allowed(const struct sl_link *link)
{
	return link->type == ARPHRD_ETHER && !(link->flags & IFF_LOOPBACK) && link->master == 0 &&
	       (link->flags & IFF_UP) && configured(link->name);
}

struct sl_port *sl_port_find(uint32_t ifindex)
{
	uint32_t n = sl_load_acquire(&nports);

	for (uint32_t i = 0; i < n; i++)
		if (ports[i]->info.ifindex == ifindex)
			return ports[i];
	return NULL;
}

struct sl_port *sl_port_at(uint32_t index)
{
	return index < sl_load_acquire(&nports) ? ports[index] : NULL;
}

static bool was_refused(uint32_t ifindex)
{
	for (unsigned i = 0; i < sl_array_len(refused); i++)
		if (refused[i] == ifindex)
			return true;
	return false;
}

static void refuse(uint32_t ifindex)
{
	for (unsigned i = 0; i < sl_array_len(refused); i++)
		if (refused[i] == 0) {
			refused[i] = ifindex;
			return;
		}
}

void sl_port_forget(uint32_t ifindex)
{
	if (!sl_lock(&lock))
		return;
	for (unsigned i = 0; i < sl_array_len(refused); i++)
		if (refused[i] == ifindex)
			refused[i] = 0;
	sl_unlock(&lock);
}

static void fill_stats(struct sl_port *p)
{
	struct sl_port_stats *s = sl_stats_port(p->info.ifindex);

	p->stats = s;
	memcpy(s->ifname, p->info.ifname, sizeof(s->ifname));
	memcpy(s->driver, p->info.driver, sizeof(s->driver));
	s->flags = p->info.flags;
	s->nqueues = p->info.nqueues;
	s->mtu = p->info.mtu;
	s->alive = 1;
	sl_store_release(&s->used, 1);
}

static struct sl_port *open_port(const struct sl_link *link)
{
	struct sl_port *p;
	const char *why = NULL;
	int err;

	/* In generic mode, the only one it has, it would get packets whose checksums the device
	 * below left out (veth, virtio), and drop them. */
	if (strcmp(link->kind, "vlan") == 0) {
		sl_warn("port", "%s stays with the kernel: it is a VLAN device", link->name);
		return NULL;
	}
	if (nports == SL_STATS_PORTS)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	err = sl_broker_port_open(link->ifindex, &p->info, &why);
	if (err < 0) {
		sl_warn("port", "%s stays with the kernel: %s (%s)", link->name,
			why ? why : "the broker refused it", strerrorname_np(-err));
		free(p);
		return NULL;
	}
	p->index = nports;
	fill_stats(p);
	ports[nports] = p;
	sl_store_release(&nports, nports + 1);
	return p;
}

struct sl_port *sl_port_open(uint32_t ifindex)
{
	struct sl_port *p = sl_port_find(ifindex);
	struct sl_link link;
	int saved = errno;

	if (p || ifindex == 0 || !sl_link_get(ifindex, &link) || !sl_port_allowed(&link))
		return p;
	if (!sl_lock(&lock))
		return NULL;
	p = sl_port_find(ifindex);
	if (!p && !was_refused(ifindex)) {
		p = open_port(&link);
		if (!p)
			refuse(ifindex);
	}
	sl_unlock(&lock);
	errno = saved;
	return p;
}

/* Policy --------------------------------------------------------------------------------------- */

enum sl_rule_action sl_port_decide(const struct sl_port *port, uint32_t role,
				   const struct sl_addr *first, uint16_t first_port,
				   const struct sl_addr *second, uint16_t second_port)
{
	unsigned n = SL_MAX_RULES;
	const struct sl_rule *rules = port ? port->info.rules : NULL, *hit;
	enum sl_rule_action action;

	if (!rules)
		rules = sl_rules(&n);
	action = sl_rule_decide(rules, n, role, first, first_port, second, second_port, &hit);
	if (hit && port && port->info.rules_rw)
		__atomic_fetch_add(&port->info.rules_rw[hit - rules].hits, 1, __ATOMIC_RELAXED);
	return action;
}

/* House-keeping -------------------------------------------------------------------------------- */

struct count_walk {
	const struct sl_port *port;
	struct sl_xsk_counts sum;
	uint64_t fill_empty[SL_MAX_QUEUES];
};

static void count_leg(struct count_walk *w, const struct sl_leg *leg)
{
	struct sl_xsk_counts c;

	for (uint32_t q = 0; q < leg->nqueues && q < SL_MAX_QUEUES; q++) {
		if (sl_xsk_read_counts(&leg->xsk[q], &c) < 0)
			continue;
		w->sum.rx_dropped += c.rx_dropped;
		w->sum.rx_ring_full += c.rx_ring_full;
		w->sum.tx_invalid += c.tx_invalid;
		w->fill_empty[q] = sl_max(w->fill_empty[q], c.fill_empty);
	}
}

static void count_lane(struct sl_lane *lane, void *arg)
{
	struct count_walk *w = arg;
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n; i++)
		if (lane->leg[i]->port == w->port)
			count_leg(w, lane->leg[i]);
}

/* By differences: the reader may have set the counters to zero. */
static void count_drops(struct sl_port *p)
{
	struct count_walk w = {.port = p};
	struct sl_xsk_counts *was = &p->counted, *now = &w.sum;
	struct sl_port_stats *s = p->stats;

	sl_lane_for_each(count_lane, &w);
	for (uint32_t q = 0; q < SL_MAX_QUEUES; q++)
		now->fill_empty += w.fill_empty[q];
	s->xsk_rx_dropped += now->rx_dropped - was->rx_dropped;
	s->xsk_rx_ring_full += now->rx_ring_full - was->rx_ring_full;
	s->xsk_fill_empty += now->fill_empty - was->fill_empty;
	s->xsk_tx_invalid += now->tx_invalid - was->tx_invalid;
	*was = *now;
}

static void check_alive(struct sl_port *p)
{
	struct sl_link link;

	if (!p->stats->alive || sl_broker_port_alive(p->info.ifindex))
		return;
	p->stats->alive = 0;
	if (sl_link_get(p->info.ifindex, &link))
		sl_warn("port",
			"%s: the steering program was taken off: traffic goes on through the "
			"kernel; remedy: start this program anew to offload it again",
			p->info.ifname);
	else
		sl_info("port", "%s is gone", p->info.ifname);
}

void sl_ports_check(void)
{
	uint32_t n = sl_load_acquire(&nports);

	for (uint32_t i = 0; i < n; i++) {
		count_drops(ports[i]);
		check_alive(ports[i]);
	}
}
