/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that has no link just when it is taken into use.
 *
 * Theory of operation: to attach the steering program some drivers start their device anew (igb,
 * ixgbe, i40e), which costs the link, for seconds, and the kernel forgets the neighbours with it.
 * What is sent meanwhile is lost. So the call that took the device into use waits for the link, as
 * it has waited for the driver, if the socket is one that blocks (sock/claim.c); who polls has
 * other things to do, TCP sends again, and datagrams are lost as when a cable is pulled. To take
 * the program off costs it again: who comes right after another waits, too (ctl/broker_left.c).
 * Nobody waits for a link that was away before.
 *
 * With the link back, or where another process has started the device anew, who connects may still
 * find no neighbour, and would be the kernel's for good. So for a while a connection may begin
 * without one: its SYN is lost, as the kernel's would be, and sent again. Where there is none by
 * the end of that time the kernel connects, which says what is wrong (policy.c). */
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "stack/stack.h"

#define NEIGH_NS 3000000000ull /* with the link back: the kernel asks each second */
#define LOOK_NS  2000000

void sl_port_opened(struct sl_port *p)
{
	bool runs = sl_link_has_carrier(p->info.ifindex);
	bool cost = !runs && p->info.flags & SL_PORT_HAD_LINK;

	sl_store(&p->restart_ns, runs ? 0 : sl_now_ns() + SL_LINK_BACK_NS);
	sl_store(&p->cost_link, cost);
	if (!runs)
		sl_info("port", "%s has no link%s: connections wait for it, for a little",
			p->info.ifname, cost ? " since its driver started it anew" : "");
}

void sl_port_has_link(struct sl_port *p)
{
	uint64_t end = sl_load(&p->restart_ns);

	if (end)
		sl_store(&p->restart_ns, sl_min(end, sl_now_ns() + NEIGH_NS));
}

bool sl_port_cost_link(const struct sl_port *p)
{
	while (p->base)
		p = p->base;
	return sl_load(&p->cost_link);
}

void sl_port_wait_link(struct sl_port *p)
{
	struct timespec pause = {.tv_nsec = LOOK_NS};

	if (sl_likely(!sl_port_cost_link(p)))
		return;
	while (p->base)
		p = p->base;
	while (!sl_link_has_carrier(p->info.ifindex) && sl_port_restarts(p))
		sl_sys(SYS_nanosleep, &pause, NULL);
	sl_port_has_link(p);
	sl_store(&p->cost_link, false);
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
