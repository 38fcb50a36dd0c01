/* SPDX-License-Identifier: BSD-2-Clause */
/* Send calls of TCP, as net/ipv4/tcp.c: tcp_sendmsg(). */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/iov.h"
#include "sock/core/life.h"
#include "sock/stream/errq_tcp.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_user.h"

/* Flags that we know; others are the kernel's. */
#define OUR_FLAGS                                                                                  \
	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_OOB | MSG_EOR | MSG_CONFIRM | MSG_DONTROUTE)

#define DRAIN_TURNS 8

struct tx {
	struct sl_sock *sk;
	const struct iovec *iov;
	size_t niov;
	size_t len;
	size_t done;
	int flags;
	uint32_t stamps; /* wanted of the last byte: SOF_TIMESTAMPING_TX_* */
	bool plain;      /* one run of bytes, nothing else is wanted */
	bool broken;     /* -ETIMEDOUT is the connection's error, not SO_SNDTIMEO's */
	bool waits;      /* for room: for as much as the kernel wakes a writer */
	bool moving;     /* it is on its way from or to the kernel (sl_sock_wait_moved) */
	bool starved;    /* there is no frame for it, and it holds none */
};

/* When a connection may be moved again after one that could not be. Atomic. */
static uint64_t moves_again_ns;
#define MOVE_AGAIN_NS 60000000000ull

/* -EREMOTE: the socket is the kernel's by now. -EAGAIN: no room, or not connected yet. */
static ssize_t write_locked(struct tx *x, struct sl_lane *lane)
{
	struct sl_tconn *c = x->sk->conn;
	bool fresh;
	long n;

	if (sl_unlikely(!c))
		return x->sk->lsn ? -EPIPE : -EREMOTE;
	if (sl_unlikely(sl_tconn_is_connecting(c))) {
		c->tcp.want_out = true;
		if (c->tcp.tfo_defer || x->flags & MSG_FASTOPEN)
			return -EINPROGRESS;
		return -EAGAIN; /* even if it was shut: sk_stream_wait_connect() */
	}
	if (x->plain && !x->done && !sl_lane_tcp_awaits(lane, &c->tcp) &&
	    sl_tcp_append(&c->tcp, x->iov->iov_base, x->len)) {
		x->done = x->len;
		x->sk->stats->tx_bytes += x->len;
		return 0;
	}
	if (x->waits && sl_tcp_is_short(&c->tcp))
		return -EAGAIN;
	/* Return the bytes already taken; the next call returns the error. */
	if (sl_unlikely(x->done && (c->tcp.error || c->tcp.tx_shut)))
		return -EPIPE;
	fresh = c->tcp.tx_una == c->tcp.tx_tail;
	sl_lane_tcp_begin(lane);
	n = sl_tcp_write(&c->tcp, x->iov, x->niov, x->done, x->flags & MSG_MORE,
			 x->flags & MSG_OOB);
	if (sl_unlikely(x->stamps) && n > 0 && x->done + (size_t)n == x->len)
		sl_errq_mark(c, x->stamps);
	if (sl_unlikely(x->flags & MSG_EOR) && n > 0 && x->done + (size_t)n == x->len)
		sl_tcp_end_record(&c->tcp);
	sl_lane_tcp_wrote(lane, &c->tcp, x->len, fresh);
	if (n < 0) {
		x->broken = n == -ETIMEDOUT;
		return n;
	}
	x->moving = c->tcp.frozen;
	x->starved = c->tcp.starved && c->tcp.tx_una == c->tcp.tx_tail;
	x->done += (size_t)n;
	x->sk->stats->tx_bytes += (uint64_t)n;
	return x->done == x->len ? 0 : -EAGAIN;
}

/* Takes in all that has come: ACKs that wait look like a long round trip. */
static void drain(struct sl_lane *lane)
{
	for (int i = 0; i < DRAIN_TURNS && sl_lane_turn_locked(lane) > 0; i++)
		;
}

/* Repeats while some bytes are taken: a long message goes piece by piece, with a turn of the lane
 * in between, since ACKs may have made room. */
static ssize_t attempt(void *arg)
{
	struct tx *x = arg;
	struct sl_lane *lane;
	size_t before;
	ssize_t r;

	do {
		before = x->done;
		if (sl_unlikely(!sl_sock_lock(x->sk, &lane)))
			return -EDEADLK;
		if (sl_settings.rx_poll_on_tx_tcp)
			sl_lane_turn_locked(lane);
		r = write_locked(x, lane);
		if (r == -EAGAIN) {
			drain(lane);
			if (x->done == before)
				r = write_locked(x, lane);
		}
		sl_lane_unlock(lane);
	} while (r == -EAGAIN && x->done != before);
	return r;
}

/* sk_stream_error() */
static ssize_t failed(const struct tx *x, ssize_t err)
{
	if (err == -EPIPE && !(x->flags & MSG_NOSIGNAL))
		sl_sys(SYS_tgkill, sl_sys(SYS_getpid), sl_tid(), SIGPIPE);
	x->sk->stats->tx_errors++;
	return err;
}

/* Marks the last byte taken for stamps, if the call could not write all of its bytes. */
static void mark_part(const struct tx *x)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(x->sk, &lane))
		return;
	if (x->sk->conn && sl_errq_make(x->sk))
		sl_errq_mark(x->sk->conn, x->stamps);
	sl_lane_unlock(lane);
}

/* The bytes of the call so far; with MSG_ZEROCOPY it gets a number. */
static ssize_t taken(const struct tx *x)
{
	if (sl_unlikely(x->stamps) && x->done && x->done < x->len)
		mark_part(x);
	if (sl_unlikely(x->flags & MSG_ZEROCOPY) && x->sk->zerocopy && x->done)
		sl_errq_copied(x->sk);
	return (ssize_t)x->done;
}

/* Has the kernel send. -EREMOTE: the connection has come back to us meanwhile. */
static ssize_t kernel_sendmsg(struct sl_sock *sk, int fd, const struct msghdr *m, int flags)
{
	ssize_t n;

	if (sl_tcp_sock_came_back(sk))
		return -EREMOTE;
	fd = sl_sock_number(sk, fd); /* (a call that slept) */
	if (sl_load(&sk->state) != SL_STATE_KERNEL) {
		n = sl_sys_cancel(SYS_sendmsg, fd, m, flags);
		sl_stats_tx_os(sk->stats, n);
		return n;
	}
	sl_inherit_send(sk);
	if (!sl_sock_in_kernel(sk))
		return -EREMOTE;
	pthread_cleanup_push(sl_sock_end_kernel_call, sk);
	n = sl_sys_cancel(SYS_sendmsg, fd, m, flags);
	pthread_cleanup_pop(1);
	sl_stats_tx_os(sk->stats, n);
	return n;
}

/* We have taken a part of this call: the kernel sends the rest. The numbers of completions are
 * ours, and it is connected. */
static ssize_t send_rest(struct tx *x, int fd)
{
	int flags = x->flags & ~(MSG_ZEROCOPY | MSG_FASTOPEN);

	while (x->done < x->len) {
		struct iovec rest[SL_IOV_REST];
		struct msghdr m = {.msg_iov = rest};
		ssize_t n;

		m.msg_iovlen = sl_iov_rest(x->iov, x->niov, x->done, SIZE_MAX, rest);
		n = kernel_sendmsg(x->sk, fd, &m, flags);
		if (n > 0)
			x->done += (size_t)n;
		if (n < sl_iov_bytes(rest, m.msg_iovlen))
			break;
	}
	return (ssize_t)x->done;
}

static ssize_t send_kernel(struct sl_sock *sk, int fd, struct tx *x, const struct msghdr *msg)
{
	struct msghdr m = {.msg_iov = sl_unconst(x->iov), .msg_iovlen = x->niov};
	int err;

	if (taken(x))
		return send_rest(x, fd);
	err = sl_sock_kept_error(sk);
	if (err)
		return -err;
	return kernel_sendmsg(sk, fd, msg ? msg : &m, x->flags);
}

static bool is_offloaded(const struct sl_sock *sk)
{
	return sl_load(&sk->state) == SL_STATE_OFFLOADED;
}

/* Sends the SYN, with data if it may (__inet_stream_connect()): 0, or the result of the call. A
 * call that does not wait returns the bytes that went with it, unless the connection fails. */
static ssize_t open_and_go_on(struct tx *x, int fd)
{
	bool waits = !x->sk->nonblock && !(x->flags & MSG_DONTWAIT);
	int err;

	x->done = sl_tcp_fastopen_syn(x->sk, x->iov, x->niov, waits);
	if (!waits)
		return -EINPROGRESS;
	err = sl_tcp_sock_wait_open(x->sk, fd);
	if (err < 0 && err != -EINPROGRESS)
		x->done = 0;
	x->broken = err == -ETIMEDOUT; /* a limit of SO_SNDTIMEO is -EINPROGRESS */
	return err < 0 ? err : attempt(x);
}

/* tcp_sendmsg_locked() looks at the connection's state before the control data, but not whether
 * the socket is shut. */
static SL_COLD ssize_t wrong_control(struct tx *x, int err)
{
	const struct sl_tconn *c;
	struct sl_lane *lane;
	bool open = false;
	ssize_t r;

	if (sl_sock_lock(x->sk, &lane)) {
		c = x->sk->conn;
		open = c &&
		       (c->tcp.state == SL_TCP_ESTABLISHED || c->tcp.state == SL_TCP_CLOSE_WAIT);
		sl_lane_unlock(lane);
	}
	if (open)
		return err;
	x->niov = 0;
	x->len = 0;
	r = attempt(x);
	return r == 0 || r == -EREMOTE ? err : r == -EDEADLK ? -EAGAIN : failed(x, r);
}

/* The first try; with MSG_FASTOPEN and a name it connects. */
static ssize_t begin(struct tx *x, int fd, const struct msghdr *msg)
{
	ssize_t r = sl_unlikely(x->flags & MSG_FASTOPEN) ? sl_tcp_sock_fastopen(x->sk, msg) : 0;

	if (r == -EALREADY && !x->sk->nonblock && !(x->flags & MSG_DONTWAIT))
		r = 0;
	if (sl_unlikely(r == 0 && !is_offloaded(x->sk))) /* the kernel would connect anew */
		x->flags &= ~MSG_FASTOPEN;
	if (r == 0)
		r = attempt(x);
	return sl_unlikely(r == -EINPROGRESS) ? open_and_go_on(x, fd) : r;
}

/* Other connections have all frames, and this one has none: the kernel, which has memory for the
 * first bytes of any socket (tcp_wmem), serves it from now on. Its program would wait until a peer
 * of another connection takes something, which may be never. Returns as attempt() does. */
static SL_COLD ssize_t leave_for_memory(const struct tx *x)
{
	struct sl_sock *sk = x->sk;
	const struct sl_tconn *c = sl_load(&sk->conn);
	uint64_t now_ns = sl_now_ns();

	if (!c || now_ns < sl_load(&moves_again_ns))
		return -EAGAIN;
	sl_sock_kernel_of(sk, c, SL_REASON_MEMORY);
	if (!is_offloaded(sk))
		return -EREMOTE;
	sl_store(&moves_again_ns, now_ns + MOVE_AGAIN_NS);
	return -EAGAIN;
}

/* Sends on a socket that Sluice has; returns as sl_tcp_sock_send() does. */
static inline __attribute__((always_inline)) ssize_t send_ours(struct tx *x, int fd,
							       const struct sl_tx_req *q)
{
	struct sl_sock *sk = x->sk;
	const struct msghdr *msg = q->msg;
	uint64_t deadline;
	ssize_t r;

	x->plain = q->niov == 1 && !x->stamps && !(x->flags & (MSG_MORE | MSG_OOB | MSG_EOR));
	r = begin(x, fd, msg);
	if (sl_likely(r == 0))
		return taken(x);
	if (sl_unlikely(x->starved) && r == -EAGAIN && !x->done)
		r = leave_for_memory(x);
	if (r == -EAGAIN && !sk->nonblock && !(x->flags & MSG_DONTWAIT)) {
		deadline = sl_sock_deadline(sk->sndtimeo_ns);
		x->waits = true;
		r = sl_sock_block_counted(sk, fd, deadline, attempt, x, &x->done);
	} else if (r == -EAGAIN && x->moving && !x->done && sl_sock_wait_moved(sk)) {
		r = attempt(x);
	}
	if (r == 0)
		return taken(x);
	if (sl_unlikely(r == -EREMOTE)) {
		r = send_kernel(sk, fd, x, msg);
		return r == -EREMOTE ? sl_tcp_sock_send(sk, fd, q) : r;
	}
	if (x->done)
		return taken(x);
	if (!x->broken && (r == -ETIMEDOUT || r == -EAGAIN || r == -EDEADLK)) {
		sk->stats->tx_eagain++;
		return -EAGAIN;
	}
	return r == -EBADF || r == -EINTR ? r : failed(x, r);
}

/* tcp_sendmsg_locked() looks at the connection before it copies: it waits until it is open, and
 * the call takes its error. (With MSG_FASTOPEN it would connect.) */
static SL_COLD ssize_t wrong_pieces(struct tx *x, int fd)
{
	const struct sl_tx_req none = {.flags = x->flags & (MSG_DONTWAIT | MSG_NOSIGNAL)};
	ssize_t r;

	if (x->flags & MSG_FASTOPEN)
		return -EFAULT;
	*x = (struct tx){.sk = x->sk, .flags = none.flags};
	r = send_ours(x, fd, &none);
	return r == 0 ? -EFAULT : r;
}

/* With SLUICE_LATENCY_STATS. Bytes for which the window has no room yet are not counted. */
static SL_APART ssize_t send_timed(struct tx *x, int fd, const struct sl_tx_req *q)
{
	uint64_t since_ns = sl_now_ns();
	ssize_t n = send_ours(x, fd, q);
	const struct sl_tconn *c;
	struct sl_lane *lane;

	if (n > 0)
		x->sk->stats->tx_thread = sl_tid();
	if (n <= 0 || (size_t)n != q->len || !sl_sock_lock(x->sk, &lane))
		return n;
	c = x->sk->conn;
	if (c && c->tcp.tx_nxt == c->tcp.tx_tail)
		sl_times_note(&x->sk->stats->time[SL_TIME_TX_CALL], since_ns, sl_now_ns());
	sl_lane_unlock(lane);
	return n;
}

ssize_t sl_tcp_sock_send(struct sl_sock *sk, int fd, const struct sl_tx_req *q)
{
	struct tx x = {.sk = sk, .iov = q->iov, .niov = q->niov, .len = q->len, .flags = q->flags};
	const struct msghdr *msg = q->msg;
	const int flags = q->flags;
	ssize_t r;

	sl_sock_part(sk);
	if (sl_unlikely(!is_offloaded(sk) && !(flags & MSG_FASTOPEN))) {
		r = send_kernel(sk, fd, &x, msg);
		if (r != -EREMOTE || !is_offloaded(sk))
			return r == -EREMOTE ? -EAGAIN : r;
	}
	if (sl_unlikely(!sl_iov_is_good(q->iov, q->niov)))
		return wrong_pieces(&x, fd);
	if (sl_unlikely(sk->errq || (msg && msg->msg_controllen))) {
		int asks = sl_errq_asks(sk, msg);

		if (asks < 0)
			return wrong_control(&x, asks);
		x.stamps = (uint32_t)asks;
		if (sk->want & SL_WANT_TIMES)
			return send_timed(&x, fd, q);
	}
	return send_ours(&x, fd, q);
}
