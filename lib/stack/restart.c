/* SPDX-License-Identifier: BSD-2-Clause */
/* A device whose link is down just when it is opened.
 *
 * Theory of operation: some drivers restart their device to attach the steering program (igb,
 * ixgbe, i40e). This takes the link down for seconds and makes the kernel forget the neighbours;
 * packets sent meanwhile are lost. So the call that opened the device waits for the link, just as
 * it waited for the driver, if its socket blocks (sock/core/claim.c). Calls on non-blocking sockets
 * do not wait: TCP sends again, and datagrams are lost as with an unplugged cable. Detaching the
 * program takes the link down again, so a program started right after another one waits, too
 * (ctl/steer/left.c). No call waits for a link that was down before.
 *
 * When the link is back, or another process has restarted the device, a neighbour may be missing
 * for seconds, much longer than a connection waits for one otherwise (sock/stream/opening.c). So
 * for some time a connection waits without that limit: its SYN is lost, as the kernel's would be,
 * and sent again. If the neighbour is still missing after that time, the kernel connects and
 * reports the error (policy.c). */
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "stack/port.h"
#include "stack/restart.h"

#define NEIGH_NS 3000000000ull /* once the link is back: the kernel asks each second */
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
