/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP socket leaves for the kernel, whatever state its connection is in.
 *
 * Theory of operation: TCP_REPAIR makes connections that are synchronised (move/hand_back.c). If a
 * connection is still connecting, we wait a little for it; then the kernel connects anew, from the
 * same port: the peer has not answered, so nothing is lost. A connection that is over moves only
 * for another process, which must be able to read the rest: the kernel gets a connection that we
 * end at once, by forged segments of the peer. This process reads the rest from our queue. */
#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sock/listen/listen.h"
#include "sock/move/heirs.h"
#include "sock/move/move.h"
#include "sock/repair/repair.h"
#include "sock/move/restore.h"
#include "sock/stream/stream.h"
#include "sock/stream/tcp_cc.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"

#define CONNECT_NS 100000000ull
#define LOOK_NS    500000

/* Connecting ------------------------------------------------------------------------------------
 */

static bool is_connecting(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	return c && sl_tconn_is_connecting(c);
}

/* A connection without a neighbour has not sent its SYN. */
static bool may_connect_soon(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	return c && sl_tconn_is_connecting(c) && !sl_load(&c->neigh_steps);
}

static void wait_connected(struct sl_sock *sk)
{
	uint64_t end = sl_now_ns() + CONNECT_NS;
	struct timespec pause = {.tv_nsec = LOOK_NS};

	for (;;) {
		sl_lane_turn(sl_load_acquire(&sk->lane));
		if (!is_connecting(sk) || sl_now_ns() >= end)
			return;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
}

/* slow is held, so no other thread can free the connection meanwhile. */
static void drop_conn(struct sl_sock *sk, struct sl_tconn *c)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sl_store_release(&sk->conn, NULL);
	c->sk = NULL;
	sl_tcp_fini(&c->tcp);
	sl_tconn_free(c, false);
	sl_lane_unlock(lane);
}

/* The kernel's own way of connecting; it goes on by itself. */
static int kernel_connect(int fd, int family, const struct sl_tcp_key *key, uint32_t scope)
{
	int flags = sl_sys_fcntl(fd, F_GETFL, 0), err;
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	sl_addr_to_sockaddr(&key->remote, key->rport, scope, family, (struct sockaddr *)&ss, &len);
	if (!(flags & O_NONBLOCK))
		sl_sys_fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	err = sl_sys_connect(fd, &ss, len);
	if (!(flags & O_NONBLOCK))
		sl_sys_fcntl(fd, F_SETFL, flags);
	return err == -EINPROGRESS ? 0 : err;
}

/* The claim goes first: the answer to the kernel's SYN must reach it. */
static void connect_plain(struct sl_sock *sk)
{
	struct sl_tconn *c = sk->conn;
	struct sl_tcp_key key = c->tcp.node.key;
	uint32_t scope = c->oif;
	int err;

	sl_tconn_unclaim(c);
	drop_conn(sk, c);
	err = kernel_connect(sk->fd, sk->family, &key, scope);
	if (err)
		sl_store(&sk->error, -err);
}

/* Has the kernel send our SYN once more. 0: our connection is gone, and the kernel's goes on. */
static int connect_again(struct sl_sock *sk, const struct sl_tcp_repair_syn *syn, const void *data)
{
	struct sl_tconn *c = sk->conn;
	bool leased = sl_broker_is_leased();
	int fd = leased ? sl_restore_syn(sk->fd, &c->tcp.node.key, c->oif, syn, data) : sk->fd;
	int err = leased ? sl_min(fd, 0) : sl_repair_syn(fd, &c->tcp.node.key, c->oif, syn, data);

	if (!err && !is_connecting(sk)) { /* it was answered after all */
		sl_repair_unsyn(fd);
		if (leased)
			sl_sys_close(fd);
		err = -EISCONN;
	}
	if (!err && leased)
		err = sl_heirs_put(sk, fd);
	if (err)
		return err;
	sl_tconn_unclaim(c);
	drop_conn(sk, c);
	return sl_broker_drop_packets(sk->fd, false);
}

static int connect_anew(struct sl_sock *sk)
{
	uint8_t data[SL_TCP_SYN_MAX];
	struct sl_tcp_repair_syn syn;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	sl_tcp_repair_get_syn(&sk->conn->tcp, &syn, data);
	sl_lane_unlock(lane);
	if (syn.bytes)
		return connect_again(sk, &syn, data);
	connect_plain(sk);
	return 0;
}

/* Over ------------------------------------------------------------------------------------------
 */

static uint32_t read_rcvq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return sl_tcp_repair_rcvq(arg, at, buf, n);
}

/* The connection stays ours: the program has not had its error yet. */
static void keep_error(struct sl_sock *sk, int err)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sk->conn->tcp.error = err;
	sl_lane_unlock(lane);
}

/* Makes the kernel's socket a closed connection with the rest of our data. If our connection never
 * was open, the kernel's socket stays unconnected and the socket keeps the error. */
static int closed_to_kernel(struct sl_sock *sk, struct sl_tconn *c)
{
	struct sl_repair_source src = {.rcvq = read_rcvq, .arg = &c->tcp};
	struct sl_tcp_repair r;
	struct sl_lane *lane;
	int err, made;

	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	err = sl_tconn_take_error(c);
	sl_tcp_repair_get_closed(&c->tcp, &r);
	sl_lane_unlock(lane);
	if (sk->phase != SL_CONNECTED) {
		sl_store(&sk->error, err);
		return 0;
	}
	r.scope_id = c->oif;
	r.fin_queued = r.fin_sent = err != EPIPE; /* which says that the peer's FIN came alone */
	made = sl_broker_is_leased() ? sl_restore_closed(sk->fd, &r, &src, err != 0)
				     : sl_repair_closed(sk->fd, &r, &src, err != 0);
	if (made < 0)
		keep_error(sk, err);
	return made < 0 || !sl_broker_is_leased() ? made : sl_heirs_put(sk, made);
}

static bool leave_closed(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_tconn *c = sk->conn;
	int err;

	if (reason != SL_REASON_PASSED && reason != SL_REASON_FORKED)
		return false;
	err = closed_to_kernel(sk, c);
	if (err)
		sl_info("tcp",
			"fd %d: what is left of a connection that is over cannot be handed "
			"to the kernel: %s",
			sk->fd, strerrorname_np(-err));
	else
		drop_conn(sk, c);
	return err == 0;
}

/* A disconnected socket's error is in this process alone, and waits and other processes look at the
 * kernel's socket. (By other reasons the kernel connects at once, which clears it.) */
static void leave_error(struct sl_sock *sk, enum sl_reason reason)
{
	if ((reason == SL_REASON_PASSED || reason == SL_REASON_FORKED ||
	     reason == SL_REASON_OPTION) &&
	    sl_load(&sk->error) == ECONNRESET && !sk->shut && sl_repair_error(sk->fd) == 0)
		sl_store(&sk->error, 0);
}

/* All together ----------------------------------------------------------------------------------
 */

static bool give_up(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_lane *lane;

	sl_warn("tcp", "fd %d: a connection was lost on its way to the kernel (%s)", sk->fd,
		sl_reason_text(reason));
	if (sl_sock_lock(sk, &lane)) {
		sl_lane_tcp_begin(lane);
		sl_tcp_abort(&sk->conn->tcp, 0);
		sl_lane_tcp_done(lane);
		sl_lane_unlock(lane);
	}
	drop_conn(sk, sk->conn);
	sl_store(&sk->error, ECONNABORTED);
	return true;
}

/* True: the socket stays ours, since a reset would be worse than the failed hand-back. */
static bool stay(const struct sl_sock *sk, enum sl_reason reason, int err)
{
	if (reason == SL_REASON_NO_DEVICE)
		sl_debug("tcp", "fd %d: the kernel has no way for it either: %s", sk->fd,
			 strerrorname_np(-err));
	else
		sl_warn("tcp",
			"fd %d: a connection cannot be handed to the kernel (%s) and stays: "
			"%s",
			sk->fd, sl_reason_text(reason), strerrorname_np(-err));
	return false;
}

/* Nothing was read or written here. */
static bool is_untouched(const struct sl_tcp *t)
{
	return t->copied_seq == t->irs + 1 && t->write_seq == t->iss + 1;
}

/* A rule leaves the listener to this process alone, which accepts what waits here, with its time
 * stamps. */
static bool listener_to_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	if (sl_tlisten_drain(sk, reason) && sk->lsn->reason != SL_REASON_RULE)
		sl_listener_queue(sk);
	return sl_tlisten_to_kernel(sk);
}

static bool to_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	int err;

	if (sk->lsn && !listener_to_kernel(sk, reason))
		return false;
	if (reason != SL_REASON_STRAY &&
	    may_connect_soon(sk)) /* (its answers come by another way) */
		wait_connected(sk);
	if (!sk->conn) {
		leave_error(sk, reason);
		return true;
	}
	if (reason == SL_REASON_FORKED && sk->conn->lsn_id && is_untouched(&sk->conn->tcp))
		sl_tlisten_forked(sk->conn->lsn_id);
	if (is_connecting(sk)) {
		err = connect_anew(sk);
		return err == 0 || stay(sk, reason, err);
	}
	if (sl_load(&sk->conn->tcp.state) == SL_TCP_CLOSED)
		return leave_closed(sk, reason);
	err = sl_tconn_hand_back(sk, reason);
	if (err == -ENOTCONN && sl_load(&sk->conn->tcp.state) == SL_TCP_CLOSED)
		return leave_closed(sk, reason);
	if (err == -ECONNABORTED)
		return give_up(sk, reason);
	return err == 0 || stay(sk, reason, err);
}

bool sl_tcp_sock_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	bool gone = to_kernel(sk, reason);

	if (gone)
		sl_tcp_cc_leave(sk);
	return gone;
}
