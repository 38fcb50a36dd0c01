/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that has no link just when it is taken into use.
 *
 * Theory of operation: to attach the steering program some drivers start their device anew (igb,
 * ixgbe, i40e), which costs the link, for seconds, and the kernel forgets the neighbours with it.
 * Whoever connects meanwhile would find no neighbour and be the kernel's for good, and that is most
 * programs' first connection. So for a while a connection may begin without one: its SYN is lost,
 * as the kernel's would be, and sent again. Where there is none by the end of that time the kernel
 * connects, which says what is wrong (policy.c). */
#include "base/clock.h"
#include "base/log.h"
#include "stack/stack.h"

#define LINK_NS  10000000000ull /* the slowest: 10GBASE-T negotiates for seven seconds */
#define NEIGH_NS 3000000000ull  /* with the link back: the kernel asks each second */

void sl_port_opened(struct sl_port *p)
{
	bool runs = sl_link_has_carrier(p->info.ifindex);

	sl_store(&p->restart_ns, runs ? 0 : sl_now_ns() + LINK_NS);
	if (!runs)
		sl_info("port", "%s has no link: connections wait for it, for a little",
			p->info.ifname);
}

void sl_port_has_link(struct sl_port *p)
{
	uint64_t end = sl_load(&p->restart_ns);

	if (end)
		sl_store(&p->restart_ns, sl_min(end, sl_now_ns() + NEIGH_NS));
}

static uint64_t end_of(const struct sl_port *p)
{
	while (p->base)
		p = p->base;
	return sl_load(&p->restart_ns);
}

bool sl_port_restarts(const struct sl_port *p)
{
	return sl_now_ns() < end_of(p);
}

bool sl_port_restarted(const struct sl_port *p, uint64_t since_ns)
{
	return since_ns < end_of(p) && !sl_port_restarts(p);
}
