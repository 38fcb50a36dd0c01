/* SPDX-License-Identifier: BSD-2-Clause */
/* Other sockets of ours on the port of one that the kernel serves (SO_REUSEADDR, SO_REUSEPORT).
 *
 * Theory of operation: of several UDP sockets the kernel gives a datagram to the one that suits it
 * best (udp4_lib_lookup(): connected to the sender, bound to the address before wildcards, to the
 * device, of the packet's family; else the last bound). The steering program knows only claims, and
 * a socket that the kernel serves has none: its datagrams would come to the next best socket of
 * ours. So we hand those sockets back, too, and the kernel chooses. Those that suit better stay. */
#include <netinet/in.h>

#include "net/net.h"
#include "net/route.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "stack/port.h"

/* The device of ours by which packets for the socket come in; 0: any; -1: none. */
static int64_t device_of(const struct sl_sock *sk)
{
	uint32_t dev = sk->bound_if;

	if (!dev && sk->bound_addr)
		dev = sl_device_of_addr(&sk->local);
	if (!dev)
		return sk->bound_addr ? -1 : 0;
	return sl_port_find(dev) ? (int64_t)dev : -1;
}

static bool takes(const struct sl_sock *sk, bool v4)
{
	if (sk->family == AF_INET)
		return v4;
	if (sk->bound_addr)
		return sl_addr_is_v4(&sk->local) == v4;
	return !v4 || !sk->v6only;
}

/* True: some packet would suit both sockets. */
static bool overlap(const struct sl_sock *a, const struct sl_sock *b)
{
	const struct sl_udp *ua = &sl_udp_sk_const(a)->udp, *ub = &sl_udp_sk_const(b)->udp;

	if (a->local_port != b->local_port ||
	    (a->bound_if && b->bound_if && a->bound_if != b->bound_if))
		return false;
	if (a->bound_addr && b->bound_addr && !sl_addr_eq(&a->local, &b->local))
		return false;
	if (ua->connected && ub->connected &&
	    (ua->remote_port != ub->remote_port || !sl_addr_eq(&ua->remote, &ub->remote)))
		return false;
	return (takes(a, true) && takes(b, true)) || (takes(a, false) && takes(b, false));
}

/* Like compute_score(), but a bound address counts most: the kernel looks at its table first. */
static int score(const struct sl_sock *sk)
{
	return sk->bound_addr * 16 + sl_udp_sk_const(sk)->udp.connected * 8 +
	       (sk->bound_if != 0) * 4 + (sk->family == AF_INET);
}

struct yield {
	const struct sl_sock *to;
	int fd;      /* our last of it, which is about to be closed; -1: it stays open */
	bool nobody; /* no other process has it */
};

/* True: another process may still have the socket. (Many programs have had children, by popen(3),
 * but few a child that still has it.) */
static bool is_wanted(struct yield *y)
{
	if (y->fd >= 0)
		y->nobody = sl_broker_holders(y->fd) == 1;
	y->fd = -1;
	return !y->nobody;
}

static void yield(struct sl_sock *sk, void *arg)
{
	struct yield *y = arg;

	if (sk == y->to || !sl_sock_is_udp(sk) || sl_load(&sk->state) != SL_STATE_OFFLOADED ||
	    !overlap(sk, y->to) || score(sk) > score(y->to) || !is_wanted(y))
		return;
	sl_sock_kernel(sk, SL_REASON_SHARED);
}

static void all_yield(struct yield y)
{
	const struct sl_sock *to = y.to;

	if (!sl_sock_is_udp(to) || !to->reuse || !to->local_port ||
	    sl_addr_is_multicast(&to->local) || sl_addr_is_loopback(&to->local) ||
	    device_of(to) < 0)
		return;
	sl_sock_for_each(yield, &y);
}

void sl_siblings_yield(const struct sl_sock *to)
{
	all_yield((struct yield){.to = to, .fd = -1});
}

void sl_siblings_yield_to_child(const struct sl_sock *to, int fd)
{
	all_yield((struct yield){.to = to, .fd = fd});
}
