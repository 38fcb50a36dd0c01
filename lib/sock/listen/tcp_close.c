/* SPDX-License-Identifier: BSD-2-Clause */
/* close(2) of a TCP socket: its connection ends in the background, but for SO_LINGER's time. */
#include <errno.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/listen/listen.h"
#include "sock/proc/sig.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/lead.h"

/* sk_stream_wait_close(): until the data and FIN are acknowledged, or a signal handler has run.
 * sk->slow is held; no other thread uses the socket any more. */
static void linger(struct sl_sock *sk, struct sl_tconn *c)
{
	uint64_t end = sl_now_ns() + (uint64_t)sk->linger_ms * 1000000;
	struct sl_lane *lane = c->lane;
	struct pollfd fds[SL_LANE_MAX_FDS];
	uint32_t ran = sl_sig_ran;
	uint8_t state;
	long r = 0;

	for (;;) {
		struct timespec ts = {0, 2000000};

		sl_lane_turn(lane);
		state = sl_load(&c->tcp.state);
		if ((state != SL_TCP_FIN_WAIT1 && state != SL_TCP_CLOSING &&
		     state != SL_TCP_LAST_ACK) ||
		    sl_now_ns() >= end || r == -EINTR || sl_sig_ran != ran)
			return;
		r = sl_sys(
			SYS_ppoll, fds,
			sl_min(sl_lane_fds(lane, fds, SL_LANE_MAX_FDS), (unsigned)SL_LANE_MAX_FDS),
			&ts, NULL, 8);
	}
}

/* The port stays with the connection while it goes on: a dup of the shadow keeps it. (A shadow that
 * was bound after the connection had ended has another.) */
static void keep_port(struct sl_tconn *c, const struct sl_sock *sk, int fd)
{
	if (c->claimed && c->guard < 0 && sk->local_port == c->tcp.node.key.lport)
		c->guard = sl_fd_guard(sl_fd_dup(fd));
}

static void close_conn(struct sl_sock *sk, int fd)
{
	struct sl_tconn *c = sk->conn;
	struct sl_lane *lane;
	bool over, clean;

	keep_port(c, sk, fd);
	if (!sl_sock_lock(sk, &lane))
		return;
	/* Takes in segments that arrived before the close, above all the peer's FIN: after that
	 * the peer is in TIME_WAIT, not we. */
	sl_lane_turn_locked(lane);
	sl_lane_tcp_begin(lane);
	over = sl_tcp_close(&c->tcp, sk->linger_ms);
	sl_lane_tcp_done(lane);
	if (!over) {
		/* c->sk is set still: it is ours to free until we let go. */
		if (sk->linger_ms > 0) {
			sl_lane_unlock(lane);
			linger(sk, c);
			sl_lane_lock(lane);
		}
		over = c->tcp.state == SL_TCP_CLOSED;
	}
	c->sk = NULL;
	sl_store_release(&sk->conn, NULL);
	/* Ended in order: its TIME_WAIT needs the claim, or the kernel answers the peer's last FIN.
	 */
	if (over) {
		clean = !c->tcp.error && c->tcp.fin_rcvd;
		sl_tcp_fini(&c->tcp);
		sl_tconn_free(c, clean);
	}
	sl_lane_leave(lane);
	sl_lane_unlock(lane);
}

void sl_tcp_sock_close(struct sl_sock *sk, int fd)
{
	if (sk->conn)
		close_conn(sk, fd);
	if (sk->lsn) {
		sl_tlisten_closing(sk);
		sl_tlisten_stop(sk);
	}
	sl_tconn_reap_many();
}
