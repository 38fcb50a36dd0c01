/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves sockets between us and the kernel, or ends connections, as `sluice flow` asks: the tool
 * marks their entries in the shared block of counters, which only root and the user of the process
 * can write. */
#include <errno.h>

#include "base/log.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"

/* Ends the socket's connection as `ss -K` ends the kernel's (tcp_abort()): the peer is reset, the
 * program's calls fail with ECONNABORTED. */
static void kill_conn(struct sl_sock *sk)
{
	struct sl_lane *lane;
	struct sl_tconn *c;

	if (!sl_sock_lock(sk, &lane))
		return;
	c = sk->conn;
	if (c && !c->dead && !c->tcp.orphan && !c->tcp.frozen && c->tcp.state != SL_TCP_CLOSED) {
		sl_debug("tcp", "fd %d: `sluice flow kill` ends the connection", sk->fd);
		sl_lane_tcp_begin(lane);
		sl_tcp_abort(&c->tcp, ECONNABORTED);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
	sl_tcp_sock_stat(sk); /* the tool looks for the state CLOSE */
}

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
	if (want == SL_MOVE_KILL && state == SL_STATE_OFFLOADED && sk->proto == IPPROTO_TCP)
		kill_conn(sk);
}

void sl_flow_serve(void)
{
	uint32_t want = sl_load_acquire(&sl_stats->move_want);

	if (sl_likely(want == sl_load(&sl_stats->move_done)))
		return;
	sl_stats_sock_for_each(move, NULL);
	sl_store_release(&sl_stats->move_done, want);
}
