/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves sockets between us and the kernel as `sluice flow` asks: the tool marks their entries in
 * the shared block of counters, which only root and the user of the process can write. */
#include "base/log.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"

static void move(struct sl_sock_stats *s, void *arg)
{
	uint32_t want = __atomic_exchange_n(&s->move_want, SL_MOVE_NONE, __ATOMIC_ACQUIRE);
	struct sl_sock *sk = want ? sl_fd_sock(s->fd) : NULL;
	uint8_t state;

	if (!sk || sk->stats != s || sk->inode != s->move_inode)
		return;
	state = sl_load(&sk->state);
	if (want == SL_MOVE_HAND_BACK && state == SL_STATE_OFFLOADED)
		sl_sock_kernel(sk, SL_REASON_RUNTIME);
	if (want == SL_MOVE_TAKE_OVER && state == SL_STATE_KERNEL && sk->proto == IPPROTO_TCP)
		sl_sock_want(sk);
}

void sl_flow_serve(void)
{
	uint32_t want = sl_load_acquire(&sl_stats->move_want);

	if (sl_likely(want == sl_load(&sl_stats->move_done)))
		return;
	sl_stats_sock_for_each(move, NULL);
	sl_store_release(&sl_stats->move_done, want);
}
