/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives from a stream without a copy: the program gets the pieces of the receive queue, a packet
 * each.
 *
 * Theory of operation: a piece that the program holds is off the queue, so the window opens as if
 * it was read. What is held is bounded by itself: all held frames of a socket together by its
 * receive buffer. A connection that goes to the kernel takes none of them along; they are the
 * program's until it frees them or closes the socket. */
#include <errno.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/sys.h"
#include "sluice.h"
#include "sluice_extra.h"
#include "sock/core/block.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/extra/kept.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_filter.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_user.h"

struct taker {
	struct sl_sock *sk;
	struct sl_extra *x;
	uint8_t *buf;
	size_t len;
	bool force, zcopy;
	bool broken; /* the connection's own error, which may be a time-out as well */
	bool unseen; /* the program's callback comes before what is in the queue */
	bool moving; /* it is on its way from or to the kernel */
};

struct entry {
	void *id;
	size_t niov;
	struct iovec iov;
} __attribute__((packed));

/* Enters the piece into the table and the program's list. */
static int put(const struct taker *z, uint8_t *at, const struct sl_rxseg *s, uint32_t charge)
{
	uint64_t id = sl_kept_add(z->x, s->frame, 0, charge);
	struct entry e = {
		.id = (void *)(uintptr_t)id,
		.niov = 1,
		.iov = {sl_frame_ptr(s->frame) + s->off, s->len},
	};

	if (sl_unlikely(!id))
		return -ENOMEM;
	if (sl_likely(!sl_guard_copy(at, &e, sizeof(e))))
		return 0;
	sl_kept_del(z->x, sl_kept_find(z->x, id));
	return -EFAULT;
}

/* Gives the program pieces of the queue while there is room for them. */
static ssize_t take(const struct taker *z, struct sl_tcp *t)
{
	uint32_t charge = 1u << sl_pool.shift;
	size_t count = 0, at = sizeof(count);
	const struct sl_rxseg *s;
	ssize_t n = 0;
	int err = 0;

	while (!err && at + sizeof(struct entry) <= z->len && (s = sl_tcp_oldest(t))) {
		if (z->x->charged + charge > t->rcvbuf)
			err = -ENOBUFS;
		else
			err = put(z, z->buf + at, s, charge);
		if (err)
			break;
		z->x->charged += charge;
		n += s->len;
		at += sizeof(struct entry);
		count++;
		sl_tcp_take_oldest(t);
	}
	if (sl_unlikely(!count))
		return err == -EFAULT || z->len < sizeof(count) + sizeof(struct entry)
			       ? (err ?: -ENOBUFS)
		       : z->force ? (err ?: -EIO)
				  : -EREMCHG;
	/* (The list is there: each of its entries was just written.) */
	return sl_guard_copy(z->buf, &count, sizeof(count)) ? -EFAULT : n;
}

static ssize_t take_locked(struct taker *z, struct sl_lane *lane)
{
	struct sl_tconn *c = z->sk->conn;
	ssize_t n;

	if (sl_unlikely(!c))
		return z->sk->lsn ? -ENOTCONN : -EREMCHG;
	if (sl_unlikely(sl_tconn_is_connecting(c)))
		return c->tcp.rx_shut ? 0 : -EAGAIN;
	z->moving = c->tcp.frozen;
	if (sl_unlikely(z->moving))
		return -EAGAIN;
	z->unseen = sl_tcp_unseen(&c->tcp);
	if (!sl_tcp_readable(&c->tcp))
		return sl_tcp_sock_ended(c, &z->broken);
	sl_lane_tcp_begin(lane);
	n = take(z, &c->tcp);
	sl_lane_tcp_done(lane);
	if (sl_likely(n > 0)) {
		z->sk->stats->rx_bytes += (uint64_t)n;
		z->zcopy = true;
	}
	return n;
}

static SL_APART ssize_t filter_and_take(struct taker *z)
{
	struct sl_lane *lane;
	ssize_t n;

	sl_filter_run(z->sk);
	if (sl_unlikely(!sl_sock_lock(z->sk, &lane)))
		return -EDEADLK;
	n = take_locked(z, lane);
	sl_lane_unlock(lane);
	return n;
}

static ssize_t attempt(void *arg)
{
	struct taker *z = arg;
	struct sl_lane *lane;
	ssize_t n;

	if (sl_unlikely(!sl_sock_lock(z->sk, &lane)))
		return -EDEADLK;
	n = take_locked(z, lane);
	if (n == -EAGAIN && sl_lane_turn_locked(lane) > 0)
		n = take_locked(z, lane);
	sl_lane_unlock(lane);
	return sl_unlikely(z->unseen) && n == -EAGAIN ? filter_and_take(z) : n;
}

static ssize_t receive(struct taker *z, int fd, bool waits)
{
	uint64_t wait_ns = z->sk->rcvtimeo_ns;
	ssize_t n = attempt(z);

	if (n == -EAGAIN && waits)
		n = sl_sock_block(z->sk, fd, wait_ns ? sl_now_ns() + wait_ns : 0, attempt, z);
	else if (n == -EAGAIN && z->moving && sl_sock_wait_moved(z->sk))
		n = attempt(z);
	return !z->broken && (n == -ETIMEDOUT || n == -EDEADLK) ? -EAGAIN : n;
}

ssize_t sl_zcopy_stream(struct sl_sock *sk, struct sl_extra *x, int fd, void *buf, size_t len,
			int flags, bool force)
{
	struct taker z = {.sk = sk, .x = x, .buf = buf, .len = len, .force = force};
	ssize_t n = receive(&z, fd, !sk->nonblock && !(flags & MSG_DONTWAIT));

	if (n == -EREMCHG && force)
		return -EIO;
	if (n == -EAGAIN)
		sk->stats->rx_eagain++;
	return n;
}
