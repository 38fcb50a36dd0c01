/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and decisions: from bind and connect on the shadow to claims on packets (claim.c).
 *
 * Theory of operation: the kernel does the call first, on the shadow: it checks, reserves the port
 * and answers getsockname. Then we look at what came of it and decide: rules, other programs on the
 * same port, devices. Only after that are packets claimed; what came in between is in the shadow
 * and is merged. */
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/kern/diag.h"
#include "sluice.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

#define SIN6_LEN_RFC2133 24 /* net/ipv6.h: without the scope */

/* Decisions ------------------------------------------------------------------------------------ */

struct names {
	struct sl_addr local, remote;
	uint16_t local_port, remote_port;
	uint32_t scope;
	bool connected;
};

/* Reads the names of the shadow. */
static int read_names(const struct sl_sock *sk, struct names *n)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint32_t scope = 0;
	int err = sl_sys_getsockname(sk->fd, &ss, &len);

	if (err == 0)
		err = sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &n->local, &n->local_port,
					    &n->scope);
	if (err < 0)
		return err;
	len = sizeof(ss);
	n->connected = sl_sys_getpeername(sk->fd, &ss, &len) == 0;
	if (n->connected)
		err = sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &n->remote,
					    &n->remote_port, &scope);
	if (scope)
		n->scope = scope;
	return err;
}

/* Puts the names where the packet path sees them. */
static void set_names(struct sl_sock *sk, const struct names *n)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sk->local = n->local;
	sk->local_port = n->local_port;
	sk->local_scope = n->scope;
	sk->bound_addr = !sl_addr_is_any(&n->local);
	if (sl_sock_is_udp(sk)) {
		sk->udp.remote = n->remote;
		sk->udp.remote_port = n->remote_port;
		sk->udp.connected = n->connected;
		sk->path.d = NULL;
	}
	sl_lane_unlock(lane);
	sk->stats->local = n->local;
	sk->stats->local_port = n->local_port;
	sk->stats->remote = n->remote;
	sk->stats->remote_port = n->remote_port;
}

int sl_sock_read_names(struct sl_sock *sk)
{
	struct names names = {0};
	int err = read_names(sk, &names);

	if (err == 0)
		set_names(sk, &names);
	return err;
}

void sl_sock_set_local(struct sl_sock *sk, const struct sl_addr *local, uint16_t port,
		       uint32_t scope)
{
	struct names names = {.local = *local, .local_port = port};

	if (sl_addr_is_linklocal(local))
		names.scope = scope;
	set_names(sk, &names);
}

/* Does a socket of another program receive on our port, too? Then the kernel must choose. */
static bool shared_with_others(struct sl_sock *sk)
{
	struct sl_diag_claim d = {
		.local = sk->local,
		.port = sk->local_port,
		.ifindex = sk->bound_if,
		.dual = sk->family == AF_INET6 && !sk->bound_addr && !sk->v6only,
		.tcp = sk->proto == IPPROTO_TCP,
	};
	uint32_t inode;

	if (!(sk->proto == IPPROTO_TCP ? sk->reuseport : sk->reuse))
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
};

static bool claim_link(const struct sl_link *link, void *arg)
{
	struct claim_walk *w = arg;
	struct sl_port *port;

	if ((w->only && link->ifindex != w->only) || !sl_port_allowed(link))
		return true;
	port = sl_port_open(link->ifindex);
	if (!port)
		return true;
	w->action = sl_port_decide(
		port, w->sk->proto == IPPROTO_TCP ? SL_ROLE_TCP_SERVER : SL_ROLE_UDP_RECEIVER,
		&w->sk->local, w->sk->local_port, NULL, 0);
	if (w->action == SL_RULE_OS)
		return false;
	if (sl_sock_claim_on(w->sk, port, &w->why))
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

/* The one device that can bring packets for the socket, or 0 for any. -1: none (local). */
static int64_t only_device(const struct sl_sock *sk)
{
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

bool sl_sock_take_lane(struct sl_sock *sk, uint32_t ifindex)
{
	struct sl_lane *lane, *old;

	if (sl_load(&sk->lane) != &sl_limbo)
		return true;
	lane = sl_lane_pick(ifindex, sk->fd);
	if (!lane || !sl_lane_lock(&sl_limbo))
		return false;
	old = sk->lane;
	sl_sock_path_changed(sk);
	__atomic_fetch_add(&lane->users, 1, __ATOMIC_RELAXED);
	if (sl_sock_is_udp(sk))
		sk->udp.lane = lane;
	sl_store_release(&sk->lane, lane);
	sk->stats->lane = lane->id;
	sl_sock_notify(sk, 0); /* its waiters watch the old lane */
	sl_lane_unlock(old);
	sl_lane_moved();
	return true;
}

/* A socket bound to a multicast group has no claim of its own: it would take the place of the fan's
 * (mcast.c), and stay when the fan leaves the group to the kernel. */
static bool comes_by_membership(const struct sl_sock *sk)
{
	return sl_addr_is_multicast(&sk->local);
}

/* Endpoints of an unconnected socket. */
static enum sl_reason claim_endpoints(struct sl_sock *sk)
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
	if (w.ports == 0)
		return w.why ? SL_REASON_CLAIM : SL_REASON_NO_DEVICE;
	return SL_REASON_NONE;
}

/* The exact flow of a connected one. */
static enum sl_reason claim_flow(struct sl_sock *sk)
{
	struct sl_route_key key = {
		.dst = sk->udp.remote,
		.src = sk->local,
		.oif = sk->bound_if ? sk->bound_if : sk->local_scope,
	};
	struct sl_route route;
	struct sl_port *port;
	const char *why = NULL;

	if (sl_route_get(&key, &route) < 0 ||
	    (route.kind != SL_ROUTE_DEVICE && route.kind != SL_ROUTE_MULTICAST))
		return SL_REASON_LOCAL;
	port = sl_port_open(route.ifindex);
	if (!port)
		return SL_REASON_NO_DEVICE;
	if (sl_port_decide(port, SL_ROLE_UDP_CONNECT, &sk->udp.remote, sk->udp.remote_port,
			   &sk->local, sk->local_port) == SL_RULE_OS)
		return SL_REASON_RULE;
	if (!sl_sock_take_lane(sk, route.ifindex))
		return SL_REASON_MEMORY;
	return sl_sock_claim_on(sk, port, &why) ? SL_REASON_NONE : SL_REASON_CLAIM;
}

/* Claims anew under the new names; the old claims go after the new ones have come. */
static enum sl_reason reclaim(struct sl_sock *sk)
{
	struct sl_sock_claim *old = sl_sock_claims_take(sk);
	enum sl_reason reason = sk->udp.connected ? claim_flow(sk) : claim_endpoints(sk);

	sl_sock_claims_drop(sk, old);
	return reason;
}

static enum sl_reason decide(struct sl_sock *sk)
{
	if (sl_sock_read_names(sk) < 0)
		return SL_REASON_RUNTIME;
	/* TCP decides when it connects or listens. */
	if (sk->local_port == 0 || sk->proto == IPPROTO_TCP)
		return SL_REASON_UNDECIDED;
	if (sl_addr_is_loopback(&sk->local) ||
	    (sk->udp.connected && sl_addr_is_local(&sk->udp.remote)))
		return SL_REASON_LOCAL;
	if (shared_with_others(sk))
		return SL_REASON_SHARED;
	return reclaim(sk);
}

enum sl_reason sl_sock_claim_listener(struct sl_sock *sk)
{
	if (sl_addr_is_loopback(&sk->local))
		return SL_REASON_LOCAL;
	if (!sk->heir && shared_with_others(sk))
		return SL_REASON_SHARED;
	return claim_endpoints(sk);
}

/* __udp_disconnect(): a port that the program did not ask for goes with the peer, and the next call
 * that needs one takes another. Memberships stay. slow held. */
static void lose_port(struct sl_sock *sk)
{
	struct sl_lane *lane;

	sl_mcast_pause(sk);
	sl_sock_unclaim(sk);
	if (!sl_sock_lock(sk, &lane))
		return;
	sl_store(&sk->state, SL_STATE_NEW);
	sl_lane_unlock(lane);
	sk->stats->state = SL_STATE_NEW;
}

void sl_sock_decide(struct sl_sock *sk)
{
	enum sl_reason reason;
	struct sl_lane *lane;

	sl_lock(&sk->slow);
	if (sk->state == SL_STATE_KERNEL ||
	    (sk->proto == IPPROTO_TCP && sk->state != SL_STATE_NEW)) {
		sl_unlock(&sk->slow);
		return;
	}
	reason = decide(sk);
	if (reason == SL_REASON_NONE) {
		if (sl_sock_lock(sk, &lane)) {
			sk->path.d = NULL;
			sk->os_first = true;
			sl_store(&sk->state, SL_STATE_OFFLOADED);
			sl_lane_unlock(lane);
		}
		sk->stats->state = SL_STATE_OFFLOADED;
		sl_mcast_claim(sk);
	} else if (reason == SL_REASON_UNDECIDED && sk->state == SL_STATE_OFFLOADED) {
		lose_port(sk);
	}
	sk->stats->reason = reason;
	sl_unlock(&sk->slow);
	if (reason != SL_REASON_NONE && reason != SL_REASON_UNDECIDED)
		sl_sock_kernel(sk, reason);
}

bool sl_sock_device_up(struct sl_sock *sk, uint32_t ifindex)
{
	struct claim_walk w = {.sk = sk, .action = SL_RULE_SLUICE, .only = ifindex};

	/* connect() holds `slow` while it waits for ARP/ND, which this thread (the keeper)
	 * resolves: to wait for the lock here would deadlock. */
	if (!sl_trylock(&sk->slow))
		return false;
	if (sk->nfds && sk->state == SL_STATE_OFFLOADED && !sl_sock_is_connected_udp(sk) &&
	    sk->slot != SL_NO_SLOT && !sk->conn && !(sk->lsn && sk->lsn->draining) &&
	    !comes_by_membership(sk)) {
		int64_t dev = only_device(sk);

		if (dev == 0 || dev == ifindex)
			sl_link_for_each(claim_link, &w);
	}
	sl_unlock(&sk->slow);
	return true;
}

/* Calls ---------------------------------------------------------------------------------------- */

/* __inet_bind() of what has a name: the family comes first. (A child's shadow has none.) */
static int bind_named(const struct sl_sock *sk, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	bool v4 = sk->family == AF_INET;

	if (!addr || len < (v4 ? sizeof(*in) : SIN6_LEN_RFC2133) || addr->sa_family == sk->family)
		return -EINVAL;
	return v4 && addr->sa_family == AF_UNSPEC && !in->sin_addr.s_addr ? -EINVAL : -EAFNOSUPPORT;
}

SL_API
int sl_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err;

	if (sl_sock_is_tcp(sk) && sl_tcp_sock_is_named(sk))
		return bind_named(sk, addr, len);
	err = sl_sys_bind(fd, addr, len);

	if (err == 0 && sk) {
		sl_sock_decide(sk);
		sl_sock_wait_links(sk, 0);
	}
	return err;
}

SL_API
int sl_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err;

	if (sl_sock_is_tcp(sk))
		return sl_tcp_sock_connect(sk, fd, addr, len);
	sl_sock_change(sk);
	err = sl_sys_connect(fd, addr, len);
	if (err == 0 && sk) {
		sl_sock_decide(sk);
		sl_sock_wait_links(sk, 0);
	}
	return err;
}

/* inet_autobind: an ephemeral port of the kernel's choice on the address that it has, which is
 * nearly always the wildcard. */
int sl_sock_autobind(struct sl_sock *sk)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	int err = 0;

	if (sl_load(&sk->local_port) == 0) {
		sl_addr_to_sockaddr(&sk->local, 0, sk->local_scope, sk->family,
				    (struct sockaddr *)&ss, &len);
		err = sl_sys_bind(sk->fd, &ss, len);
		if (err == 0 || err == -EINVAL) /* EINVAL: another thread was first */
			sl_sock_decide(sk);
	}
	return err;
}

SL_API
int sl_shutdown(int fd, int how)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_lane *lane;
	int err;

	if (sl_sock_is_tcp(sk))
		return sl_tcp_sock_shutdown(sk, fd, how);
	sl_sock_change(sk);
	err = (int)sl_sys(SYS_shutdown, fd, how);
	/* ENOTCONN: Linux shuts an unconnected UDP socket down all the same and says so. */
	if (!sk || (err < 0 && err != -ENOTCONN) || !sl_sock_lock(sk, &lane))
		return err;
	if (how == SHUT_RD || how == SHUT_RDWR)
		sk->udp.rx_shut = true;
	if (how == SHUT_WR || how == SHUT_RDWR)
		sk->tx_shut = true;
	sl_sock_notify(sk, EPOLLIN | EPOLLRDHUP | EPOLLHUP);
	sl_lane_unlock(lane);
	return err;
}

/* A port that we have chosen goes with its connection: tcp_disconnect(). */
static int say_unnamed(const struct sl_sock *sk, struct sockaddr *addr, socklen_t *len)
{
	struct sl_addr any = sk->family == AF_INET ? sl_addr_v4(0) : (struct sl_addr){0};

	if (!addr || !len)
		return -EFAULT;
	if (*len > INT_MAX)
		return -EINVAL;
	sl_addr_to_sockaddr(&any, sk->local_port, 0, sk->family, addr, len);
	return 0;
}

/* False: the kernel knows the name. */
static bool name_is_ours(int fd, bool peer, struct sockaddr *addr, socklen_t *len, int *err)
{
	struct sl_sock *sk = sl_tcp_sock(fd);

	if (sk && !peer && sk->named && !sl_load(&sk->conn) &&
	    sl_load(&sk->state) != SL_STATE_KERNEL) {
		*err = say_unnamed(sk, addr, len);
		return true;
	}
	if (!sk || !sl_load(&sk->conn))
		return false;
	*err = sl_tcp_sock_name(sk, peer, addr, len);
	return *err != -EREMOTE;
}

SL_API
int sl_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	int err;

	return name_is_ours(fd, false, addr, len, &err) ? err : sl_sys_getsockname(fd, addr, len);
}

SL_API
int sl_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	int err;

	return name_is_ours(fd, true, addr, len, &err) ? err : sl_sys_getpeername(fd, addr, len);
}

SL_API
int sl_listen(int fd, int backlog)
{
	struct sl_sock *sk = sl_tcp_sock(fd);

	if (sk && sl_load(&sk->state) != SL_STATE_KERNEL)
		return sl_tcp_sock_listen(sk, fd, backlog);
	return sl_sysi(SYS_listen, fd, backlog);
}

SL_API
int sl_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct sl_sock *sk;

	sl_tcp_sock_accepts(fd);
	sk = sl_tcp_sock(fd);
	if (sk)
		return sl_tcp_sock_accept(sk, fd, addr, len, flags);
	return (int)sl_sys_cancel(SYS_accept4, fd, addr, len, flags);
}
