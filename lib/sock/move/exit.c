/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections at the end of the process: those that are open go on in the kernel. */
#include <errno.h>

#include "base/clock.h"
#include "sock/core/life.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"

/* How long the end of the process waits for its last bytes to reach the peers: in all, and for the
 * acknowledgments of what went out last. */
#define EXIT_NS   500000000ull
#define SETTLE_NS 20000000ull
/* How long it hands connections to the kernel. */
#define HAND_BACK_NS 5000000000ull

/* Gives the connection to the kernel, which finishes it however long the peer takes. */
static void to_kernel_at_exit(struct sl_tconn *c, void *arg)
{
	struct sl_sock *sk = c->sk;

	if (sl_now_ns() >= *(uint64_t *)arg || c->dead || sl_tconn_is_connecting(c))
		return;
	if (c->tcp.state == SL_TCP_CLOSED) {
		/* A child reads what is left of it, and its error. */
		if (sk && !c->tcp.orphan && sk->forks != sl_load(&sl_forks))
			sl_sock_kernel_of(sk, c, SL_REASON_FORKED);
		return;
	}
	if (sk && !c->tcp.orphan)
		sl_sock_kernel_of(sk, c, SL_REASON_RUNTIME);
	else if (c->tcp.orphan)
		sl_tconn_orphan_to_kernel(c);
}

static void close_at_exit(struct sl_tconn *c, void *arg)
{
	struct sl_lane *lane = c->lane;

	if (!sl_lane_lock(lane))
		return;
	if (!c->dead && !c->tcp.orphan && c->tcp.state != SL_TCP_CLOSED) {
		sl_lane_tcp_begin(lane);
		if (c->sk)
			sl_tcp_close(&c->tcp, c->sk->linger_ms);
		else /* it was not accepted: inet_csk_listen_stop() */
			sl_tcp_abort(&c->tcp, ECONNRESET);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
}

/* Notes a connection whose FIN, or a byte before it, is not acknowledged yet. */
static void look_unfinished(struct sl_tconn *c, void *arg)
{
	uint8_t s = sl_load(&c->tcp.state);

	*(bool *)arg |= !c->tcp.frozen &&
			(s == SL_TCP_FIN_WAIT1 || s == SL_TCP_CLOSING || s == SL_TCP_LAST_ACK);
	sl_lane_turn(c->lane);
}

static void finish(uint64_t patience_ns)
{
	uint64_t end = sl_now_ns() + patience_ns;
	bool unfinished;

	do {
		unfinished = false;
		sl_tconn_for_each(look_unfinished, &unfinished);
	} while (unfinished && sl_now_ns() < end);
}

/* Waits a little before the kernel gets connections: most programs have just closed them, and the
 * acknowledgment of the last FIN is under way. The kernel would see it only after it has sent the
 * FIN again, a second later, and the port would be in use as long. */
void sl_tconn_exit(void)
{
	uint64_t hand_back_until;

	finish(SETTLE_NS);
	hand_back_until = sl_now_ns() + HAND_BACK_NS;
	sl_tconn_for_each(to_kernel_at_exit, &hand_back_until);
	/* Closes the connections that could not be moved. */
	sl_tconn_for_each(close_at_exit, NULL);
	finish(EXIT_NS);
}
