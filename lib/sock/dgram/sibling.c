/* SPDX-License-Identifier: BSD-2-Clause */
/* Other sockets of ours on the port of one that the kernel serves (SO_REUSEADDR, SO_REUSEPORT).
 *
 * Theory of operation: of several UDP sockets the kernel gives a datagram to the one that suits it
 * best (udp4_lib_lookup(): connected to the sender, bound to the address before wildcards, to the
 * device, of the packet's family; else the last bound). The steering program knows claims, and a
 * socket that is the kernel's has none: its datagrams would come to the next best that is ours. So
 * these go to the kernel, too, which chooses as ever. One that suits better stays. */
#include <netinet/in.h>

#include "net/net.h"
#include "net/route.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/dgram/dgram.h"
#include "stack/port.h"

/* Where the packets for it come in: a device of ours, 0: any; -1: none. */
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

/* Is there a packet that both would take? */
static bool overlap(const struct sl_sock *a, const struct sl_sock *b)
{
	if (a->local_port != b->local_port ||
	    (a->bound_if && b->bound_if && a->bound_if != b->bound_if))
		return false;
	if (a->bound_addr && b->bound_addr && !sl_addr_eq(&a->local, &b->local))
		return false;
	if (a->udp.connected && b->udp.connected &&
	    (a->udp.remote_port != b->udp.remote_port ||
	     !sl_addr_eq(&a->udp.remote, &b->udp.remote)))
		return false;
	return (takes(a, true) && takes(b, true)) || (takes(a, false) && takes(b, false));
}

/* compute_score(); the table of addresses is looked at before that of wildcards. */
static int score(const struct sl_sock *sk)
{
	return sk->bound_addr * 16 + sk->udp.connected * 8 + (sk->bound_if != 0) * 4 +
	       (sk->family == AF_INET);
}

struct yield {
	const struct sl_sock *to;
	int fd;      /* our last of it, which is about to be closed; -1: it stays open */
	bool nobody; /* has it then */
};

/* A program that has had children (popen(3)) seldom has one that has the socket still. */
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
