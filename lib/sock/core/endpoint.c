/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoints of a socket: the devices that can bring packets for its name, and its lane.
 *
 * Theory of operation: an unconnected socket claims its address and port on each device that may
 * bring packets for it, and on each that comes later. The first claim takes it from limbo to a
 * lane. */
#include <linux/net_tstamp.h>
#include <string.h>

#include "base/settings.h"
#include "base/sys.h"
#include "ctl/kern/diag.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "stack/hwclock.h"
#include "stack/port.h"

uint32_t sl_lane_moves;

/* The program that made a foreign socket may have set the option for bind(2), and have taken it
 * back since. */
bool sl_sock_may_be_shared(const struct sl_sock *sk)
{
	return sk->foreign || (sk->proto == IPPROTO_TCP ? sk->reuseport : sk->reuse);
}

struct sl_diag_claim sl_sock_diag_claim(const struct sl_sock *sk)
{
	return (struct sl_diag_claim){
		.local = sk->local,
		.port = sk->local_port,
		.ifindex = sk->bound_if,
		.dual = sk->family == AF_INET6 && !sk->bound_addr && !sk->v6only,
		.tcp = sk->proto == IPPROTO_TCP,
	};
}

bool sl_sock_is_shared(struct sl_sock *sk)
{
	struct sl_diag_claim d = sl_sock_diag_claim(sk);
	uint32_t inode;

	if (!sl_sock_may_be_shared(sk))
		return false;
	return sl_diag_shared(&d, sl_sock_inode_is_ours, NULL, &inode) > 0;
}

/* Claims --------------------------------------------------------------------------------------- */

struct claim_walk {
	struct sl_sock *sk;
	const char *why;
	unsigned ports;
	enum sl_rule_action action;
	uint32_t only; /* ifindex, 0: all */
	bool unwanted; /* the socket does not want packets that come by one of them */
};

bool sl_sock_wants_port(const struct sl_sock *sk, struct sl_port *port)
{
	if (sl_unlikely(sk->want & SL_WANT_HW_STAMP) && sl_port_os_rx_stamps(port) &&
	    sl_sock_get_int(sk, SOL_SOCKET, SO_TIMESTAMPING) & SOF_TIMESTAMPING_RX_HARDWARE)
		return false;
	return !sl_sock_is_udp(sk) || !sl_udp_sk_const(sk)->vni_after ||
	       sl_udp_sk_const(sk)->vni_after == port->vni_after;
}

static bool claim_link(const struct sl_link *link, void *arg)
{
	struct claim_walk *w = arg;
	struct sl_narrow narrow;
	struct sl_port *port;

	if ((w->only && link->ifindex != w->only) || !sl_port_allowed(link))
		return true;
	port = sl_port_open(link->ifindex);
	if (!port)
		return true;
	if (!sl_sock_wants_port(w->sk, port)) {
		w->unwanted = true;
		return true;
	}
	w->action = sl_port_decide_narrow(port,
					  &(struct sl_rule_ask){
						  .role = w->sk->proto == IPPROTO_TCP
								  ? SL_ROLE_TCP_SERVER
								  : SL_ROLE_UDP_RECEIVER,
						  .first = &w->sk->local,
						  .first_port = w->sk->local_port,
					  },
					  &narrow);
	if (w->action == SL_RULE_OS)
		return false;
	if (sl_sock_claim_on(w->sk, port, &narrow, &w->why))
		w->ports++;
	return true;
}

struct addr_walk {
	const struct sl_addr *addr;
	uint32_t ifindex;
};

static bool addr_is_on(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	struct addr_walk *w = arg;

	if (!sl_addr_eq(addr, w->addr))
		return true;
	w->ifindex = ifindex;
	return false;
}

uint32_t sl_device_of_addr(const struct sl_addr *addr)
{
	struct addr_walk w = {.addr = addr};

	sl_local_for_each(addr_is_on, &w);
	return w.ifindex;
}

/* True: the socket is bound to an address of another host (IP_FREEBIND): packets for it that arrive
 * here are forwarded, and the kernel gives them to no socket. */
static bool is_elsewhere(const struct sl_sock *sk)
{
	return sk->bound_addr && !sl_addr_is_multicast(&sk->local) && !sl_addr_is_local(&sk->local);
}

/* The one device that can bring packets for the socket, or 0 for any. -1: none (local). */
static int64_t only_device(const struct sl_sock *sk)
{
	if (is_elsewhere(sk))
		return -1;
	if (sk->bound_if)
		return sk->bound_if;
	if (sl_addr_is_linklocal(&sk->local) && sk->local_scope)
		return sk->local_scope;
	if (sl_addr_is_multicast(&sk->local))
		return 0;
	if (sk->bound_addr) {
		uint32_t dev = sl_addr_is_loopback(&sk->local) ? 0 : sl_device_of_addr(&sk->local);

		return dev ? (int64_t)dev : -1;
	}
	return 0;
}

void sl_sock_change_lane(struct sl_sock *sk, struct sl_lane *lane)
{
	struct sl_lane *old = sk->lane;

	sl_sock_path_changed(sk);
	__atomic_fetch_add(&lane->users, 1, __ATOMIC_RELAXED);
	if (old != &sl_limbo)
		__atomic_fetch_sub(&old->users, 1, __ATOMIC_RELAXED);
	if (sl_sock_is_udp(sk))
		sl_store(&sl_udp_sk(sk)->udp.lane, lane);
	sl_store_release(&sk->lane, lane);
	sk->stats->lane = lane->id;
	sl_sock_notify(sk, SL_READY_MOVED);
	sl_lane_unlock(old);
	sl_lane_moved();
}

bool sl_sock_enter_lane(struct sl_sock *sk, struct sl_lane *lane)
{
	if (!lane || !sl_lane_lock(&sl_limbo))
		return false;
	sl_sock_change_lane(sk, lane);
	return true;
}

bool sl_sock_take_lane(struct sl_sock *sk, uint32_t ifindex)
{
	if (sl_load(&sk->lane) != &sl_limbo)
		return true;
	sl_sock_place_thread();
	return sl_sock_enter_lane(sk, sl_lane_pick(ifindex, sk->fd));
}

/* True: a socket bound to a multicast group. Its own claim would take the place of the fan's claim
 * (mcast.c), and stay when the fan leaves the group to the kernel. */
static bool comes_by_membership(const struct sl_sock *sk)
{
	return sl_addr_is_multicast(&sk->local);
}

/* Endpoints of an unconnected socket. */
enum sl_reason sl_sock_claim_endpoints(struct sl_sock *sk)
{
	struct claim_walk w = {.sk = sk, .action = SL_RULE_SLUICE};
	int64_t dev = only_device(sk);

	if (dev < 0)
		return SL_REASON_LOCAL;
	if (!sl_sock_take_lane(sk, (uint32_t)dev))
		return SL_REASON_MEMORY;
	if (comes_by_membership(sk))
		return SL_REASON_NONE;
	w.only = (uint32_t)dev;
	sl_link_for_each(claim_link, &w);
	if (w.action == SL_RULE_OS)
		return SL_REASON_RULE;
	if (w.ports)
		return SL_REASON_NONE;
	if (w.unwanted)
		return SL_REASON_OPTION;
	return w.why ? SL_REASON_CLAIM : SL_REASON_NO_DEVICE;
}

enum sl_reason sl_sock_judge_listener(struct sl_sock *sk)
{
	if (sl_addr_is_loopback(&sk->local))
		return SL_REASON_LOCAL;
	if (sl_reuseprog_has(sk))
		return SL_REASON_OPTION;
	return !sk->heir && sl_sock_is_shared(sk) ? SL_REASON_SHARED : SL_REASON_NONE;
}

enum sl_reason sl_sock_claim_listener(struct sl_sock *sk)
{
	enum sl_reason reason = sl_sock_judge_listener(sk);

	return reason == SL_REASON_NONE ? sl_sock_claim_endpoints(sk) : reason;
}

void sl_sock_claim_device(struct sl_sock *sk, uint32_t ifindex)
{
	struct claim_walk w = {.sk = sk, .action = SL_RULE_SLUICE, .only = ifindex};
	int64_t dev = comes_by_membership(sk) ? -1 : only_device(sk);

	if (dev == 0 || dev == ifindex)
		sl_link_for_each(claim_link, &w);
}

/* Late devices ---------------------------------------------------------------------------------
 */

bool sl_late_any;
uint64_t sl_late_listener_ns;

struct late_walk {
	uint32_t only; /* ifindex, 0: all */
	bool coming;
};

static bool look_at_link(const struct sl_link *link, void *arg)
{
	struct late_walk *w = arg;

	if (!w->only || w->only == link->ifindex)
		sl_port_open_soon(link->ifindex,
				  sl_settings.start == SL_START_WAIT ? 0 : SL_LATE_AFTER_NS,
				  &w->coming);
	return !w->coming;
}

bool sl_device_is_late(uint32_t ifindex)
{
	struct late_walk w = {.only = ifindex};

	sl_link_for_each(look_at_link, &w);
	return w.coming;
}

bool sl_sock_is_late(const struct sl_sock *sk)
{
	int64_t dev = only_device(sk);

	return dev >= 0 && sl_device_is_late((uint32_t)dev);
}

/* (A socket that another program made is decided at once or never: given.c.) */
bool sl_sock_send_waits(const struct sl_sock *sk)
{
	return sl_settings.start != SL_START_BACKGROUND || sk->state != SL_STATE_NEW || sk->foreign;
}

/* The keeper has a real-time priority: beside a thread that spins with the same one it would hardly
 * run. */
static bool real_time;

/* (From the file, since a program that confines itself may lack the system call.) */
void sl_late_begin(void)
{
	char text[512];
	const char *p = text;

	if (sl_settings.start != SL_START_AUTO ||
	    sl_read_text("/proc/thread-self/stat", text, sizeof(text)) < 0)
		return;
	/* The 40th field is the priority; the name, the second one, may have spaces. */
	p = strrchr(text, ')');
	for (int field = 2; p && field < 40; field++)
		p = strchr(p + 1, ' ');
	real_time = p && p[1] != '0';
}

/* (A datagram that comes before the claim is the kernel's, whether bind(2) waits or not; but the
 * kernel need not listen before a listener has its claims.) */
bool sl_sock_waits(const struct sl_sock *sk)
{
	bool comes_first = sl_settings.start == SL_START_AUTO && sk->state == SL_STATE_NEW &&
			   !sk->foreign && (sl_sock_is_udp(sk) || sk->nonblock);

	if (comes_first && real_time && !sl_port_at(0))
		return true;
	return !comes_first && sl_sock_send_waits(sk);
}

void sl_late_hurry(void)
{
	if (sl_settings.start == SL_START_AUTO)
		sl_port_hurry();
}
