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
			ok = !not;
	}
	return ok;
}

bool sl_port_allowed(const struct sl_link *link)
{
	return link->type == ARPHRD_ETHER && !(link->flags & IFF_LOOPBACK) && link->master == 0 &&
	       (link->flags & IFF_UP) && configured(link->name);
}

struct sl_port *sl_stack_port(uint32_t ifindex)
{
	uint32_t n = sl_load_acquire(&nports);

	for (uint32_t i = 0; i < n; i++)
		if (ports[i]->info.ifindex == ifindex)
			return ports[i];
	return NULL;
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
	struct sl_port *p = sl_stack_port(ifindex);
	struct sl_link link;
	int saved = errno;

	if (p || ifindex == 0 || !sl_link_get(ifindex, &link) || !sl_port_allowed(&link))
		return p;
	if (!sl_lock(&lock))
		return NULL;
	p = sl_stack_port(ifindex);
	if (!p && !was_refused(ifindex)) {
		p = open_port(&link);
		if (!p)
			refuse(ifindex);
	}
	sl_unlock(&lock);
	errno = saved;
	return p;
}
