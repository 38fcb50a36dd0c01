/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices and addresses that come and go: sockets claim on new ones, too.
 *
 * Theory of operation: the mirrors tell the keeper of a change. A socket that is busy (connect()
 * waits for a neighbour) is skipped, and the device is offered to all sockets again later. Devices
 * that have lost their steering program are opened anew here, and all devices are offered then: a
 * VLAN device may be above it. (Connections and connected sockets come back in policy.c.) */
#include "sock/call/devices.h"

#include <net/if.h>
#include <string.h>

#include "base/handler.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "net/rtnl.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/proc/fdtab.h"
#include "sock/proc/keeper.h"
#include "sock/proc/up.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/retire.h"

#define LOST_NS 250000000 /* between looks at devices that are to be opened anew */

struct offer {
	uint32_t ifindex;
	bool refused; /* some sockets were busy */
};

static void listener_claims_on(struct sl_sock *sk, uint32_t ifindex)
{
	const struct sl_sock_claim *old = sk->claims;

	sl_tlisten_claim_device(sk, ifindex);
	if (sk->claims != old)
		sl_policy_now(); /* connections follow */
}

/* connect() holds `slow` while it waits for ARP/ND, which this thread (the keeper) resolves: to
 * wait for the lock here would deadlock. False: the socket is busy. */
static bool claim_on(struct sl_sock *sk, uint32_t ifindex)
{
	if (!sl_trylock(&sk->slow))
		return false;
	if (sk->nfds && sl_sock_is_served(sk) && !sl_sock_is_connected_udp(sk) &&
	    sk->slot != SL_NO_SLOT && !sk->conn) {
		if (!sk->lsn)
			sl_sock_claim_device(sk, ifindex);
		else if (!sl_tlisten_drains(sk->lsn))
			listener_claims_on(sk, ifindex);
	}
	sl_unlock(&sk->slow);
	return true;
}

static void socket_device_up(struct sl_sock *sk, void *arg)
{
	struct offer *o = arg;

	if (sl_load(&sk->state) == SL_STATE_KERNEL)
		return;
	sl_broker_ready();
	if (!claim_on(sk, o->ifindex))
		o->refused = true;
}

/* Devices that are to be offered again: the keeper's alone. The last stands for those that found
 * no place, all of them. */
#define ALL_DEVICES UINT32_MAX
static uint32_t again[8];

static void put_off(uint32_t ifindex)
{
	for (unsigned i = 0; i < sl_array_len(again) - 1; i++) {
		if (!again[i] || again[i] == ifindex) {
			again[i] = ifindex;
			return;
		}
	}
	again[sl_array_len(again) - 1] = ALL_DEVICES;
}

static void device_up(uint32_t ifindex)
{
	struct offer o = {.ifindex = ifindex};

	if (!sl_port_find(ifindex))
		sl_port_forget(ifindex);
	sl_sock_for_each(socket_device_up, &o);
	if (o.refused)
		put_off(ifindex);
}

static bool link_up(const struct sl_link *link, void *arg)
{
	device_up(link->ifindex);
	return true;
}

/* A signal handler needs a device, which only the keeper may open then. */
static bool handler_waits;

void sl_devices_later(void)
{
	sl_store(&handler_waits, true);
	sl_rtnl_wake();
}

static bool is_waiting(void)
{
	if (sl_load(&handler_waits))
		return true;
	for (unsigned i = 0; i < sl_array_len(again); i++)
		if (again[i])
			return true;
	return false;
}

static void offer_again(void)
{
	uint32_t now[sl_array_len(again)];

	if (sl_load(&handler_waits)) {
		sl_store(&handler_waits, false);
		again[sl_array_len(again) - 1] = ALL_DEVICES;
	}
	memcpy(now, again, sizeof(now));
	memset(again, 0, sizeof(again));
	for (unsigned i = 0; i < sl_array_len(now); i++) {
		if (now[i] == ALL_DEVICES)
			sl_link_for_each(link_up, NULL);
		else if (now[i])
			device_up(now[i]);
	}
}

/* True: packets of port leave by p. */
static bool leaves_by(const struct sl_port *port, const struct sl_port *p)
{
	while (port != p && port->base)
		port = port->base;
	return port == p;
}

struct trial {
	const struct sl_port *port;
	bool lost; /* what is out is probably lost; else only where a time-out has said so */
};

static bool is_tried(const struct sl_tconn *c, const void *arg)
{
	const struct trial *t = arg;

	return c->path->leg && leaves_by(c->path->leg->port, t->port) &&
	       (t->lost || c->tcp.retries);
}

static void try_conn(struct sl_tconn *c, void *arg)
{
	sl_tconn_try(c, is_tried, arg);
}

/* Connections need not wait for their time-outs: the path that lost their segments has another
 * part, or is back. Neither need those that the program has closed. */
static void try_connections(const struct sl_port *p, bool lost)
{
	struct trial t = {p, lost};

	sl_tconn_for_each(try_conn, &t);
}

static bool has_parts(const struct sl_port *p)
{
	static const char *const drivers[] = {"bonding", "hv_netvsc", "net_failover", "team"};

	for (unsigned i = 0; i < sl_array_len(drivers); i++)
		if (!strcmp(p->info.driver, drivers[i]))
			return true;
	return false;
}

void sl_devices_part_gone(const struct sl_link *part, uint32_t master)
{
	struct sl_port *p = sl_port_find(master);

	if (!p || !has_parts(p))
		return;
	p->stats->plugouts++;
	sl_info("port", "%s: %s has no link or has gone, it goes on by its other parts",
		p->info.ifname, part->name);
	try_connections(p, true);
}

void sl_devices_link_changed(const struct sl_link *link, bool gone)
{
	struct sl_port *p = sl_port_find(link->ifindex);

	if (!gone && !p)
		sl_broker_link_seen(link->ifindex, link->name);
	if (gone)
		sl_broker_link_gone(link->ifindex);
	if (p) {
		sl_port_link_changed(p, link, gone);
		sl_policy_now();
		if (!gone && link->carrier_up)
			try_connections(p, false);
	}
	if (!gone && (link->flags & IFF_UP))
		device_up(link->ifindex);
}

void sl_devices_addr_changed(uint32_t ifindex, const struct sl_addr *addr, bool gone)
{
	if (gone) {
		if (!sl_addr_is_local(addr)) /* another device may have it still */
			sl_broker_local_del(addr->b);
	} else {
		sl_broker_local_add(addr->b);
		device_up(ifindex);
	}
}

/* Late sockets ----------------------------------------------------------------------------------
 */

#define SETTLE_NS 100000
#define SETTLES   20000 /* two seconds */
#define LATE_NS   1000000

static bool deciding; /* the keeper decides on late sockets; atomic */

static void decide_late(struct sl_sock *sk, void *arg)
{
	if (!(sl_sock_is_udp(sk) ? sl_dgram_decide_late(sk) : sl_tlisten_claim_late(sk)))
		sl_store_release(&sl_late_any, true); /* it is busy */
}

void sl_devices_look_late(uint64_t now_ns)
{
	bool opened = sl_is_up() && sl_port_open_wanted(now_ns);

	if (sl_likely(!opened && !sl_load(&sl_late_any)) ||
	    !sl_is_up()) /* (it may end meanwhile) */
		return;
	/* (A child that came in between would know nothing of the claims.) */
	if (sl_port_is_wanted() || !sl_fork_hold())
		return;
	sl_store(&deciding, true);
	sl_store_release(&sl_late_any, false);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sl_sock_for_each(decide_late, NULL);
	sl_store_release(&deciding, false);
	sl_fork_release();
}

uint64_t sl_devices_late_due_ns(uint64_t now_ns, bool quiet)
{
	if (sl_port_is_wanted())
		return sl_max(sl_port_wanted_ns(), now_ns);
	return sl_load(&sl_late_any) ? now_ns + LATE_NS : 0;
}

static bool is_settled(bool numbers)
{
	return !sl_port_is_wanted() &&
	       (numbers || !(sl_load_acquire(&sl_late_any) || sl_load_acquire(&deciding)));
}

/* (The files of libbpf and of the kernel's calls that it makes stand on the lowest free numbers.)
 */
void sl_devices_settle(bool numbers)
{
	const struct timespec pause = {.tv_nsec = SETTLE_NS};

	if (sl_likely(is_settled(numbers)))
		return;
	sl_fdtab_notice(); /* (in a child nobody would open it) */
	if (!sl_is_up() || sl_in_signal() || sl_keeper_is_here())
		return;
	if (numbers && sl_port_postpone(SL_LATE_AFTER_NS))
		return;
	sl_port_hurry();
	for (unsigned i = 0; i < SETTLES && !is_settled(numbers); i++)
		sl_sys(SYS_nanosleep, &pause, NULL);
}

SL_API
void sl_settle(void)
{
	sl_devices_settle(false);
}

/* The keeper's job -------------------------------------------------------------------------------
 */

void sl_devices_look(uint64_t now_ns)
{
	if (is_waiting())
		offer_again();
}

uint64_t sl_devices_due_ns(uint64_t now_ns, bool quiet)
{
	return quiet && is_waiting() ? now_ns + SL_JOB_SECOND_NS : 0;
}

static uint64_t lost_ns; /* when to look at lost devices next */

void sl_devices_look_lost(uint64_t now_ns)
{
	if (sl_likely(!sl_lost_any()) || now_ns < lost_ns)
		return;
	lost_ns = now_ns + LOST_NS;
	if (!sl_lost_open())
		return;
	sl_link_for_each(link_up, NULL);
	sl_mcast_again();
	sl_policy_now();
}

uint64_t sl_devices_lost_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_lost_any() ? sl_max(lost_ns, now_ns) : 0;
}

void sl_devices_child(void)
{
	lost_ns = 0;
	sl_late_any = deciding = false;
	memset(again, 0, sizeof(again));
}
