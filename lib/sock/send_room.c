/* SPDX-License-Identifier: BSD-2-Clause */
/* No room to send: who is told when there is some, and waiting for it. */
#include "base/clock.h"
#include "base/sys.h"
#include "sock/block.h"
#include "sock/send.h"

void sl_send_block(struct sl_sock *sk, struct sl_lane *lane)
{
	if (sk->tx_blocked)
		return;
	sl_store(&sk->tx_blocked, true);
	if (sk->pacer)
		sl_pacer_block(sk->pacer, &sk->blocked);
	else
		sl_list_add_tail(&lane->blocked, &sk->blocked);
}

void sl_sock_on_room(struct sl_list *entry)
{
	struct sl_sock *sk = sl_container_of(entry, struct sl_sock, blocked);

	if (sl_load(&sk->wmem) >= sk->sndbuf / 2) /* sock_writeable() */
		return;
	sl_list_del(&sk->blocked);
	sl_store(&sk->tx_blocked, false);
	sl_sock_notify(sk, EPOLLOUT | EPOLLWRNORM);
}

struct waiting {
	struct sl_sock *sk;
	int fd;
	const struct sl_tx_req *r;
};

static ssize_t try_again(void *arg)
{
	const struct waiting *w = arg;
	struct sl_lane *lane;
	ssize_t n = sl_send_try(w->sk, w->fd, w->r, &lane);

	if (lane)
		sl_lane_turn(lane);
	return n;
}

ssize_t sl_send_wait(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	struct waiting w = {sk, fd, r};
	uint64_t deadline = sk->sndtimeo_ns ? sl_now_ns() + sk->sndtimeo_ns : 0;
	ssize_t n = sl_sock_block_send(sk, fd, deadline, try_again, &w);

	return n == -ETIMEDOUT ? -EAGAIN : n;
}
