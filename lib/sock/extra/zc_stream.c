/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that are sent from packet memory which the program has filled.
 *
 * Theory of operation: a buffer becomes a piece of the send queue, which has a reference to its
 * frame until the peer has acknowledged the bytes; segments go out of it, also again. The headers
 * are written in front of the bytes, so a buffer has room for one segment. A connection that the
 * kernel has, and memory that is short, copy. */
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/core/block.h"
#include "sock/core/errq.h"
#include "sock/core/iov.h"
#include "sock/core/life.h"
#include "sock/extra/kept.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_user.h"

/* A call of sl_zc_send(). */
struct writer {
	struct sl_sock *sk;
	struct sl_extra *x;
	struct sl_zbuf *buf;
	size_t n, done; /* buffers */
	bool keep;
	bool numbers; /* MSG_ZEROCOPY */
	bool broken;  /* -ETIMEDOUT is the connection's error, not SO_SNDTIMEO's */
	int flags;    /* those of send(2) */
};

/* Bytes of a frame behind the headers. */
static uint32_t room(void)
{
	return (1u << sl_pool.shift) - SL_TCP_HEADROOM;
}

uint32_t sl_zc_stream_room(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sk->conn;

	if (!c || sl_tconn_is_connecting(c))
		return 0;
	return sl_min((uint32_t)c->tcp.mss, room());
}

/* Queues the next buffer. 0 or -errno. Lane held. */
static int write_one(struct writer *w, struct sl_tconn *c, struct sl_lane *lane)
{
	struct sl_zbuf *b = &w->buf[w->done];
	struct sl_kept *h = sl_kept_buffer(w->x, b);
	int err = 0;

	if (!h)
		return -ENOENT;
	if (b->len > room())
		return -EINVAL;
	if (sl_frame_refs(h->frame) > 1)
		sl_lane_reap(lane);
	if (sl_frame_refs(h->frame) > 1)
		return -EBUSY;
	if (w->numbers && !sl_zc_may_wait(w->x))
		return -ENOMEM;
	if (b->len)
		err = sl_tcp_write_frame(&c->tcp, h->frame, (uint16_t)b->len,
					 w->done + 1 < w->n || w->flags & MSG_MORE);
	if (err)
		return err;
	b->flags = 0;
	w->sk->stats->tx_bytes += b->len;
	if (w->numbers && b->len)
		sl_zc_wait(w->sk, w->x, h, w->keep);
	else if (!w->keep)
		sl_kept_put(w->sk, w->x, lane, h);
	return 0;
}

/* Queues buffers. 0: all; -EAGAIN: no room, or not connected yet; -EREMOTE: the kernel has the
 * connection. Lane held. */
static ssize_t write_locked(struct writer *w, struct sl_lane *lane)
{
	struct sl_tconn *c = w->sk->conn;
	size_t bytes = 0;
	bool fresh;
	int err = 0;

	if (!c)
		return w->sk->lsn ? -EPIPE : -EREMOTE;
	if (sl_tconn_is_connecting(c)) {
		c->tcp.want_out = true;
		return -EAGAIN;
	}
	fresh = c->tcp.tx_una == c->tcp.tx_tail;
	sl_lane_tcp_begin(lane);
	for (; w->done < w->n && !err; w->done += !err) {
		err = write_one(w, c, lane);
		bytes += err ? 0 : w->buf[w->done].len;
	}
	sl_lane_tcp_wrote(lane, &c->tcp, bytes, fresh);
	w->broken = err == -ETIMEDOUT;
	return err;
}

/* A turn of the lane makes room if acknowledgments have come. */
static ssize_t attempt(void *arg)
{
	struct writer *w = arg;
	struct sl_lane *lane;
	ssize_t r;

	if (!sl_sock_lock(w->sk, &lane))
		return -EDEADLK;
	r = write_locked(w, lane);
	if (r == -EAGAIN && sl_lane_turn_locked(lane) > 0)
		r = write_locked(w, lane);
	sl_lane_unlock(lane);
	return r;
}

/* Sends the next buffer by a copy of its bytes. 0 or -errno. No lane held. */
static int send_copy(struct writer *w, int fd)
{
	struct sl_zbuf *b = &w->buf[w->done];
	struct sl_tx_req q = {.niov = 1, .len = b->len, .flags = w->flags};
	struct iovec iov;
	ssize_t n = sl_zc_bytes(w->sk, w->x, b, SL_TCP_HEADROOM, &iov);

	if (n < 0)
		return (int)n;
	if (b->len > room())
		return -EINVAL;
	q.iov = &iov;
	n = sl_tcp_sock_send(w->sk, fd, &q);
	if (n < 0)
		return (int)n;
	b->len = (uint32_t)n;
	sl_zc_copied(w->sk, w->x, b, w->numbers && n, w->keep);
	w->done++;
	return 0;
}

/* sk_stream_error() */
static int failed(const struct writer *w, int err)
{
	if (err == -EPIPE && !(w->flags & MSG_NOSIGNAL))
		sl_sys(SYS_tgkill, sl_sys(SYS_getpid), sl_tid(), SIGPIPE);
	return err;
}

int sl_zc_stream(struct sl_sock *sk, struct sl_extra *x, int fd, struct sl_zbuf *buf, unsigned n,
		 int flags)
{
	struct writer w = {
		.sk = sk,
		.x = x,
		.buf = buf,
		.n = n,
		.keep = flags & SL_ZC_KEEP,
		.numbers = flags & MSG_ZEROCOPY && sk->zerocopy,
		.flags = flags & ~(SL_ZC_KEEP | MSG_ZEROCOPY),
	};
	ssize_t r = attempt(&w);

	if (r == -EAGAIN && !sk->nonblock && !(flags & MSG_DONTWAIT))
		r = sl_sock_block_counted(sk, fd, sl_sock_deadline(sk->sndtimeo_ns), attempt, &w,
					  &w.done);
	if (r == -ETIMEDOUT && !w.broken)
		r = -EAGAIN;
	while (w.done < n && (r == -EREMOTE || r == -ENOMEM)) {
		int err = send_copy(&w, fd);

		r = err ? err : r;
		if (err && !w.done)
			return err; /* (the signal was sent) */
	}
	if (w.done || !n)
		return (int)w.done;
	return failed(&w, r == -EDEADLK ? -EBUSY : (int)r);
}
