/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive calls of TCP, as net/ipv4/tcp.c: tcp_recvmsg_locked(). */
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/sys.h"
#include "sock/core/block.h"
#include "sock/core/cmsg.h"
#include "sock/core/extra.h"
#include "sock/core/iov.h"
#include "sock/core/life.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/hwclock.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_filter.h"
#include "tcp/tcp_user.h"

struct rx {
	struct sl_sock *sk;
	const struct iovec *iov;
	size_t niov;
	size_t len;
	size_t done;
	size_t target; /* enough to return */
	int flags;
	uint32_t inq;      /* left in the queue */
	uint64_t stamp_ns; /* when the last data came, if the socket wants to know */
	uint64_t hw_ns;    /* the same by the hardware, 0: it does not say */
	uint32_t hw_ifindex;
	bool bad;    /* there is no memory at the buffers */
	bool unseen; /* the program's callback comes before what is in the queue */
	bool broken; /* the connection's own error, which may be a time-out as well */
	bool moving; /* it is on its way from or to the kernel (sl_sock_wait_moved) */
};

static long take(struct rx *x, struct sl_tcp *t)
{
	bool peek = x->flags & MSG_PEEK, trunc = x->flags & MSG_TRUNC;
	size_t most = SIZE_MAX, n;
	struct iovec rest[SL_IOV_REST];

	if (sl_likely(!x->done && !t->filtered))
		return sl_tcp_read(t, x->iov, x->niov, 0, peek, trunc);
	if (sl_unlikely(sl_tcp_unseen(t)))
		most = sl_tcp_readable(t) - (peek ? x->done : 0);
	n = sl_iov_rest(x->iov, x->niov, x->done, most, rest);
	return sl_tcp_read(t, rest, n, peek ? x->done : 0, peek, trunc);
}

int sl_tcp_sock_ended(struct sl_tconn *c, bool *broken)
{
	const struct sl_tcp *t = &c->tcp;
	int err;

	if (sl_unlikely(sl_tcp_unseen(t)))
		return -EAGAIN;
	if (t->fin_rcvd) /* SOCK_DONE: even if there was an error afterwards */
		return 0;
	err = sl_tconn_take_error(c);
	*broken = err;
	if (err)
		return -err;
	return t->rx_shut || t->state == SL_TCP_CLOSED ? 0 : -EAGAIN;
}

/* Nothing more is in the queue now: does the call end, and with what? -EAGAIN: it does not. */
static ssize_t no_more(struct rx *x, struct sl_tconn *c)
{
	const struct sl_tcp *t = &c->tcp;

	x->unseen = sl_tcp_unseen(t);
	if (sl_unlikely(x->unseen))
		return -EAGAIN;
	if (!x->done)
		return sl_tcp_sock_ended(c, &x->broken);
	/* Data first, the error with the next call. */
	if (t->error || t->state == SL_TCP_CLOSED || t->rx_shut || t->fin_rcvd)
		return 0;
	return -EAGAIN;
}

/* The urgent byte alone is in the queue: no byte to be read, but recv() passes it over, and a call
 * for no bytes does not wait. */
static bool passes_mark(const struct rx *x, const struct sl_tcp *t)
{
	return sl_unlikely(t->urg_in) && !t->oobinline && t->rx_bytes &&
	       (!x->len || !(x->flags & MSG_PEEK)) && sl_tcp_at_mark(t);
}

/* With SLUICE_LATENCY_STATS: bytes are read. The first that came after bytes of ours had left are
 * the answer to those. */
static void note_read(const struct rx *x, const struct sl_tcp *t)
{
	struct sl_sock_stats *k = x->sk->stats;
	uint64_t now_ns, hw_ns;

	if (!(x->sk->want & SL_WANT_TIMES) || x->flags & MSG_PEEK)
		return;
	k->rx_thread = sl_tid();
	hw_ns = x->hw_ns ? sl_hw_came_ns(x->hw_ifindex, x->hw_ns) : 0;
	now_ns = sl_now_ns();
	sl_times_note(&k->time[SL_TIME_RX_WAIT], x->stamp_ns, now_ns);
	if (hw_ns)
		sl_times_note(&k->time[SL_TIME_RX_WIRE], hw_ns, now_ns);
	if (k->answered_us == t->last_sent_us || t->last_rcv_us < t->last_sent_us)
		return;
	k->answered_us = t->last_sent_us;
	sl_times_note(&k->time[SL_TIME_ANSWER], t->last_sent_us * 1000, now_ns);
}

/* Reads from our queue. 0: the call is over, with x->done bytes. fresh: a turn has just set the
 * lane's time. */
static ssize_t read_locked(struct rx *x, struct sl_lane *lane, bool fresh)
{
	struct sl_tconn *c = x->sk->conn;
	struct sl_tcp *t;
	uint32_t readable;
	long n;

	if (sl_unlikely(!c))
		return x->sk->lsn ? -ENOTCONN : -EREMOTE;
	t = &c->tcp;
	if (sl_unlikely(sl_tconn_is_connecting(c)))
		return t->rx_shut ? 0 : -EAGAIN;
	x->moving = t->frozen;
	if (sl_unlikely(t->frozen))
		return -EAGAIN;
	readable = sl_tcp_readable(t);
	if (readable > (x->flags & MSG_PEEK ? x->done : 0) || passes_mark(x, t)) {
		if (sl_unlikely(x->bad))
			return -EFAULT;
		if (!fresh)
			sl_lane_tcp_begin(lane);
		n = take(x, t);
		sl_lane_tcp_done(lane);
		if (sl_unlikely(n < 0))
			return x->done ? 0 : n;
		x->done += (size_t)n;
		if (!(x->flags & MSG_PEEK))
			x->sk->stats->rx_bytes += (uint64_t)n;
		x->inq = t->rx_bytes + t->fin_rcvd; /* tcp_inq_hint() */
		if (sl_unlikely(x->sk->want)) {
			x->stamp_ns = t->last_rcv_us * 1000;
			x->hw_ns = x->sk->errq ? x->sk->errq->hw_ns : 0;
			x->hw_ifindex = x->hw_ns ? x->sk->errq->hw_ifindex : 0;
			if (n > 0)
				note_read(x, t);
		}
		if (sl_likely(x->done >= x->target) || !x->len || (n && sl_tcp_at_mark(t)))
			return 0;
	} else {
		x->inq = t->fin_rcvd;
	}
	return no_more(x, c);
}

/* Shows the callback what is in the queue, then reads. */
static SL_APART ssize_t filter_and_read(struct rx *x)
{
	struct sl_lane *lane;
	ssize_t r;

	sl_extra_ops->filter(x->sk);
	if (sl_unlikely(!sl_sock_lock(x->sk, &lane)))
		return -EDEADLK;
	r = read_locked(x, lane, false);
	sl_lane_unlock(lane);
	return r;
}

static ssize_t attempt(void *arg)
{
	struct rx *x = arg;
	struct sl_lane *lane;
	ssize_t r;

	if (sl_unlikely(!sl_sock_lock(x->sk, &lane)))
		return -EDEADLK;
	r = read_locked(x, lane, false);
	if (r == -EAGAIN && sl_lane_turn_locked(lane) > 0)
		r = read_locked(x, lane, true);
	sl_lane_unlock(lane);
	return sl_unlikely(x->unseen) && r == -EAGAIN ? filter_and_read(x) : r;
}

/* MSG_OOB: tcp_recv_urg() */
static ssize_t urgent_attempt(void *arg)
{
	struct rx *x = arg;
	struct sl_lane *lane;
	struct sl_tconn *c;
	uint8_t byte;
	int r = -EREMOTE;

	if (!sl_sock_lock(x->sk, &lane))
		return -EDEADLK;
	c = x->sk->conn;
	sl_lane_turn_locked(lane);
	if (c) {
		x->moving = c->tcp.frozen;
		r = sl_tcp_read_oob(&c->tcp, &byte, x->flags & MSG_PEEK);
		if (r == 0 && !c->tcp.rx_shut && c->tcp.state != SL_TCP_CLOSED)
			r = -EAGAIN; /* announced, not here yet */
	}
	sl_lane_unlock(lane);
	if (r != 1)
		return r;
	if (x->len && x->niov && !(x->flags & MSG_TRUNC) &&
	    sl_guard_copy(x->iov[0].iov_base, &byte, 1))
		return -EFAULT;
	x->done = x->len ? 1 : 0;
	return 0;
}

static ssize_t recv_urgent(struct rx *x, struct msghdr *msg)
{
	ssize_t r = urgent_attempt(x); /* never waits */

	if (r == -EAGAIN && x->moving && sl_sock_wait_moved(x->sk))
		r = urgent_attempt(x);
	if (msg && r == 0) {
		msg->msg_namelen = 0;
		msg->msg_controllen = 0;
		msg->msg_flags = (x->flags & MSG_CMSG_CLOEXEC) | MSG_OOB | (x->len ? 0 : MSG_TRUNC);
	}
	return r == 0 ? (ssize_t)x->done : r == -EDEADLK ? -EAGAIN : r;
}

/* Time stamps and TCP_INQ. */
static void put_control(const struct rx *x, struct msghdr *msg)
{
	uint64_t hw_ns = x->hw_ns ? sl_hw_time(x->hw_ifindex, x->hw_ns) : 0;
	int inq = (int)x->inq;

	if (sl_unlikely(x->sk->want || x->sk->inq))
		sl_cmsg_put_stream(x->sk, x->done ? x->stamp_ns : 0, hw_ns,
				   x->sk->inq ? &inq : NULL, msg);
	else
		msg->msg_controllen = 0;
}

/* The kernel has the connection for a while: its device or its rule may give it back to us. */
static bool may_come_back(const struct sl_sock *sk)
{
	unsigned reason = sl_load(&sk->stats->reason);

	return sk->told_mss && sl_load(&sk->state) == SL_STATE_KERNEL &&
	       (reason == SL_REASON_NO_DEVICE || reason == SL_REASON_STRAY ||
		reason == SL_REASON_RULE);
}

struct kernel_wait {
	struct sl_sock *sk;
	int fd;
};

/* 1: the kernel has something for a read; -EREMOTE: the connection has come back. */
static ssize_t kernel_attempt(void *arg)
{
	const struct kernel_wait *w = arg;
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	struct timespec zero = {0, 0};

	sl_given_look_at(w->sk);
	if (sl_tcp_sock_came_back(w->sk))
		return -EREMOTE;
	return sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) ? 1 : -EAGAIN;
}

/* Waits for the kernel's bytes outside of recvmsg(2), which no thread can end: a connection whose
 * peer is silent, or waits to send again, would stay the kernel's as long as that. 0: ask the
 * kernel; -EREMOTE: the connection has come back; -EINTR. */
static ssize_t await_kernel(const struct rx *x, int fd, int *flags)
{
	struct kernel_wait w = {x->sk, fd};
	ssize_t r = kernel_attempt(&w);

	if (r == -EAGAIN)
		r = sl_sock_block_kernel(x->sk, fd, sl_sock_deadline(x->sk->rcvtimeo_ns),
					 kernel_attempt, &w);
	if (r == -ETIMEDOUT)
		*flags |= MSG_DONTWAIT;
	return r == -EREMOTE || r == -EINTR ? r : 0;
}

/* recvmsg(2) of the kernel. -EREMOTE: the connection has come back to us meanwhile. */
static ssize_t kernel_recvmsg(const struct rx *x, int fd, struct msghdr *m, int flags)
{
	ssize_t n;

	if (sl_tcp_sock_came_back(x->sk))
		return -EREMOTE;
	fd = sl_sock_number(x->sk, fd);
	if (!(flags & MSG_DONTWAIT) && !x->sk->nonblock && may_come_back(x->sk)) {
		n = await_kernel(x, fd, &flags);
		if (n)
			return n;
	}
	if (sl_load(&x->sk->state) != SL_STATE_KERNEL) {
		n = sl_sys_cancel(SYS_recvmsg, fd, m, flags);
		sl_stats_rx_os(x->sk->stats, n, flags & MSG_PEEK);
		return n;
	}
	if (!sl_sock_in_kernel(x->sk))
		return -EREMOTE;
	pthread_cleanup_push(sl_sock_end_kernel_call, x->sk);
	n = sl_sys_cancel(SYS_recvmsg, fd, m, flags);
	pthread_cleanup_pop(1);
	sl_stats_rx_os(x->sk->stats, n, flags & MSG_PEEK);
	return n;
}

static ssize_t recv_error(const struct rx *x, int fd, struct msghdr *msg)
{
	struct msghdr m = {.msg_iov = sl_unconst(x->iov), .msg_iovlen = x->niov};
	ssize_t n;

	n = sl_errq_recv(x->sk, fd, msg ? msg : &m, x->flags);
	if (n >= 0 && x->sk->errq && x->sk->errq->took_icmp) /* sock_dequeue_err_skb() */
		(void)sl_tcp_sock_take_error(x->sk);
	return n;
}

static ssize_t finish(struct rx *x, struct msghdr *msg, ssize_t r)
{
	struct sl_sock_stats *s = x->sk->stats;

	if (r == 0 || x->done) {
		if (msg) {
			msg->msg_namelen = 0;
			msg->msg_flags = x->flags & MSG_CMSG_CLOEXEC;
			put_control(x, msg);
		}
		return (ssize_t)x->done;
	}
	if (!x->broken && (r == -EAGAIN || r == -ETIMEDOUT || r == -EDEADLK)) {
		s->rx_eagain++;
		return -EAGAIN;
	}
	s->rx_errors++;
	return r;
}

/* The connection was handed back when the call had a part of its bytes: the kernel waits for those
 * that are still missing, then gives what else it has. -EREMOTE: it has come back. */
static ssize_t kernel_rest(struct rx *x, int fd, struct msghdr *msg)
{
	const struct msghdr given = msg ? *msg : (struct msghdr){0};
	bool said = false; /* the kernel has filled msg */
	ssize_t n = 0;

	while (x->done < x->len) {
		bool enough = x->done >= x->target;
		size_t want = (enough ? x->len : x->target) - x->done;
		struct iovec rest[SL_IOV_REST];
		struct msghdr m = given;

		m.msg_iov = rest;
		m.msg_iovlen = sl_iov_rest(x->iov, x->niov, x->done, want, rest);
		n = kernel_recvmsg(x, fd, &m, x->flags | (enough ? MSG_DONTWAIT : MSG_WAITALL));
		if (n <= 0)
			break;
		x->done += (size_t)n;
		if (msg) {
			msg->msg_namelen = m.msg_namelen;
			msg->msg_controllen = m.msg_controllen;
			msg->msg_flags = m.msg_flags;
			said = true;
		}
		if ((size_t)n < (size_t)sl_iov_bytes(rest, m.msg_iovlen))
			break;
	}
	if (n == -EREMOTE)
		return n;
	return said ? (ssize_t)x->done : finish(x, msg, 0);
}

/* Has the kernel do the call, or what is left of it. -EREMOTE: the connection has come back. */
static ssize_t kernel_call(struct rx *x, int fd, struct msghdr *msg)
{
	struct msghdr m = {.msg_iov = sl_unconst(x->iov), .msg_iovlen = x->niov};
	int err;

	if (x->done && !(x->flags & MSG_PEEK))
		return kernel_rest(x, fd, msg);
	x->done = 0; /* (bytes that were only looked at are the kernel's, too) */
	err = x->flags & MSG_OOB ? 0 : sl_sock_kept_error(x->sk); /* tcp_recv_urg() takes none */
	return err ? -err : kernel_recvmsg(x, fd, msg ? msg : &m, x->flags);
}

/* Receives by us. -EREMOTE: the connection is the kernel's. */
static ssize_t receive(struct rx *x, int fd)
{
	ssize_t r = attempt(x);

	if (r != -EAGAIN)
		return r;
	if (!x->sk->nonblock && !(x->flags & MSG_DONTWAIT))
		return sl_sock_block_counted(x->sk, fd, sl_sock_deadline(x->sk->rcvtimeo_ns),
					     attempt, x, &x->done);
	if (sl_unlikely(x->moving) && sl_sock_wait_moved(x->sk))
		return attempt(x);
	if (!x->done)
		sl_cpu_relax(); /* leave the core's other thread some room */
	return r;
}

static bool is_ours(const struct sl_sock *sk)
{
	return sl_load(&sk->state) == SL_STATE_OFFLOADED;
}

ssize_t sl_tcp_sock_recv(struct sl_sock *sk, int fd, const struct iovec *iov, size_t niov,
			 size_t len, struct msghdr *msg, int flags)
{
	struct rx x = {.sk = sk, .iov = iov, .niov = niov, .len = len, .flags = flags};
	ssize_t r = -EREMOTE;

	sl_sock_part(sk);
	if (sl_unlikely(flags & MSG_ERRQUEUE))
		return recv_error(&x, fd, msg);
	x.target = flags & MSG_WAITALL ? x.len : sl_min((size_t)sk->rcvlowat, x.len);
	x.target = x.target ? x.target : 1;
	if (sl_unlikely(!is_ours(sk)))
		r = kernel_call(&x, fd, msg);
	while (sl_likely(r == -EREMOTE && is_ours(sk))) {
		x.bad = !sl_iov_is_good(iov, niov) && !(flags & MSG_TRUNC);
		if (sl_unlikely(flags & MSG_OOB))
			r = recv_urgent(&x, msg);
		else
			r = receive(&x, fd);
		if (sl_likely(r != -EREMOTE))
			return flags & MSG_OOB ? r : finish(&x, msg, r);
		r = kernel_call(&x, fd, msg);
	}
	if (r != -EREMOTE)
		return r;
	return x.done ? finish(&x, msg, 0) : -EAGAIN; /* on its way */
}

int sl_tcp_sock_take_error(struct sl_sock *sk)
{
	struct sl_lane *lane;
	int err = 0;

	if (!sl_sock_lock(sk, &lane))
		return 0;
	sl_lane_turn_locked(lane);
	if (sk->conn && !sl_tconn_is_connecting(sk->conn))
		err = sl_tconn_take_error(sk->conn);
	sl_lane_unlock(lane);
	return err ? err : sl_sock_kept_error(sk);
}

void sl_tcp_sock_put_error(struct sl_sock *sk, int err)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (sk->conn)
		sk->conn->tcp.error = (int16_t)err;
	else
		sl_store(&sk->error, err);
	sl_lane_unlock(lane);
}
