/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a datagram socket, where it differs from a stream's. */
#include "sock/core/sock_ops.h"

#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/endpoint.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"

static void on_data(struct sl_udp *u)
{
	struct sl_sock *sk = &sl_container_of(u, struct sl_udp_sock, udp)->sk;

	if (!sl_list_empty(&sk->watches))
		sl_sock_notify(sk, EPOLLIN | EPOLLRDNORM);
}

/* SLUICE_TX_MC_LOOPBACK=0: turns multicast loopback off for the shadow, too; a flag per family. */
static void no_loop(const struct sl_sock *sk)
{
	int off = 0;

	sl_sys_setsockopt(sk->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off));
	if (sk->family == AF_INET6)
		sl_sys_setsockopt(sk->fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &off, sizeof(off));
}

/* Sets up the fields that only a datagram socket has. 0 or -ENOSPC. */
static int start_udp(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	int slot = sl_slot_new();

	if (slot < 0)
		return slot;
	sk->slot = (uint32_t)slot;
	us->udp.stats = sk->stats;
	us->udp.on_data = on_data;
	us->mc_all = true;
	us->mc_loop = sl_settings.tx_mc_loopback;
	if (!us->mc_loop)
		no_loop(sk);
	us->mc_ttl = 1;
	us->drains = sl_settings.rx_cq_drain_rate_nsec;
	sl_sock_count_begin(sk);
	us->rx_timed = us->tx_timed = sl_settings.latency_stats;
	sl_sock_read_options(sk);
	sl_slot_set(sk->slot, SL_SLOT_UDP, &us->udp);
	return 0;
}

static void leave_udp(struct sl_sock *sk, struct sl_lane *lane, bool keep_queue)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	sl_list_del(&us->blocked);
	sl_store(&us->tx_blocked, false);
	sl_sock_pace_end(sk, keep_queue);
	if (!keep_queue)
		sl_udp_fini(&us->udp, &lane->frames);
	us->path.d = NULL;
}

static void stop_claims(struct sl_sock *sk)
{
	sl_mcast_forget(sk);
	sl_sock_unclaim(sk);
}

static bool udp_to_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	stop_claims(sk);
	return true;
}

static void moved(struct sl_sock *sk)
{
	sl_siblings_yield(sk);
	sl_mcast_recheck();
}

static void close_claims(struct sl_sock *sk, int fd)
{
	stop_claims(sk);
}

const struct sl_sock_ops sl_dgram_ops = {
	.start = start_udp,
	.to_kernel = udp_to_kernel,
	.left = leave_udp,
	.requeue = sl_sock_requeue,
	.moved = moved,
	.closed_to_child = sl_siblings_yield_to_child,
	.close = close_claims,
};
