/* SPDX-License-Identifier: BSD-2-Clause */
/* No room to send: waits until there is some, and reports EPOLLOUT then.
 *
 * Theory of operation: a datagram that finds no room must not go through the kernel, where it would
 * overtake those that wait on the ring. A blocking sender tries again for a little, then sleeps
 * until a turn of the lane finds room (its own turn, another thread's, or the keeper's, which turns
 * every SL_ROOM_US), or the kernel has taken half of the ring (POLLOUT). */
#include <net/if.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/core/block.h"
#include "sock/dgram/send.h"

void sl_send_block(struct sl_sock *sk, struct sl_lane *lane)
{
	if (sk->tx_blocked)
		return;
	sl_store(&sk->tx_blocked, true);
	if (sk->pacer)
		sl_pacer_block(sk->pacer, &sk->blocked);
	else
		sl_lane_block(lane, &sk->blocked);
}

/* True: the path of the last datagram has room for as many descriptors as one call may need (the
 * shortest ring has as many). With less, a woken sender could find no room again and again. */
static bool has_room(const struct sl_sock *sk, const struct sl_lane *lane)
{
	const struct sl_leg *leg = sk->path.d ? sk->path.leg : NULL;

	if (!leg || leg->dead) /* let the sender try */
		return true;
	return (lane->frames.n || sl_frames_left()) && sl_leg_room(leg) >= SL_SEND_BURST;
}

void sl_sock_on_room(struct sl_list *entry)
{
	struct sl_sock *sk = sl_container_of(entry, struct sl_sock, blocked);

	if (sl_load(&sk->wmem) >= sk->sndbuf / 2) /* sock_writeable() */
		return;
	if (!has_room(sk, sl_load(&sk->lane)))
		return;
	sl_list_del(&sk->blocked);
	sl_store(&sk->tx_blocked, false);
	sl_sock_notify(sk, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
}

struct waiting {
	struct sl_sock *sk;
	int fd;
	const struct sl_tx_req *r;
};

/* True: the device of the last datagram's path is up, or there is none. No lane held. */
static bool device_runs(struct sl_sock *sk)
{
	struct sl_lane *lane;
	struct sl_link link;
	uint32_t ifindex = 0;

	if (!sl_sock_lock(sk, &lane))
		return true;
	if (sk->path.d && sk->path.leg)
		ifindex = sl_load(&sk->path.leg->port->info.ifindex);
	sl_lane_unlock(lane);
	return !ifindex || (sl_link_get(ifindex, &link) && link.flags & IFF_UP && link.carrier_up);
}

/* A device without a link may keep its ring full for ever: then the datagram goes through the
 * kernel, which drops it or knows another route. */
static ssize_t try_again(void *arg)
{
	const struct waiting *w = arg;
	struct sl_lane *lane;
	ssize_t n = sl_send_try(w->sk, w->fd, w->r, &lane);

	if (!lane)
		return n;
	sl_lane_turn(lane);
	return device_runs(w->sk) ? n : sl_send_by_kernel(w->sk, w->fd, w->r);
}

ssize_t sl_send_wait(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	struct waiting w = {sk, fd, r};
	uint64_t deadline = sk->sndtimeo_ns ? sl_now_ns() + sk->sndtimeo_ns : 0;
	ssize_t n = sl_sock_block_send(sk, fd, deadline, try_again, &w);

	return n == -ETIMEDOUT ? -EAGAIN : n;
}
