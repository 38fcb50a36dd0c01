/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends datagrams from packet memory into which the program has written them. (zc_stream.c sends
 * streams so.)
 *
 * Theory of operation: a buffer is a frame with one reference, in the table of what the program
 * holds (kept.h). A send gives that reference to the device; with SL_ZC_KEEP or a number the device
 * gets one of its own, so the count of references tells whether it is done. What the straight way
 * cannot send (no path yet, the kernel's destinations, no room) goes by the send calls, which copy.
 */
#include <errno.h>

#include "base/guard.h"
#include "sluice_extra.h"
#include "sock/core/errq.h"
#include "sock/core/life.h"
#include "sock/dgram/send.h"
#include "sock/extra/kept.h"

#define KICK_EVERY 32
#define SHARE      4   /* the program may have a quarter of the frames that are left */
#define BATCH      16u /* buffers made at a time */

static uint32_t room(void)
{
	return (1u << sl_pool.shift) - SL_SEND_ROOM;
}

/* A new buffer, with its bytes at off. False: no memory. Lane held. */
static bool make(struct sl_lane *lane, struct sl_extra *x, uint32_t off, struct sl_zbuf *b)
{
	uint32_t frame = sl_frame_get(&lane->frames);
	uint64_t id;

	if (sl_unlikely(frame == SL_NO_FRAME))
		return false;
	id = sl_kept_add(x, frame, 0, 0);
	if (sl_unlikely(!id)) {
		sl_frame_put(&lane->frames, frame);
		return false;
	}
	x->held[id & ((1u << SL_KEPT_PLACE_BITS) - 1)].sends = true;
	sl_store(&x->nsends, x->nsends + 1);
	if (off == SL_TCP_HEADROOM)
		sl_pool.charge[frame].tag = SL_FRAME_FILLED;
	b->id = (void *)(uintptr_t)id;
	b->data = sl_frame_ptr(frame) + off;
	return true;
}

/* Makes at most n buffers, and at most BATCH; returns how many. Lane held. */
static unsigned make_some(struct sl_sock *sk, struct sl_extra *x, struct sl_zbuf *buf, unsigned n)
{
	uint32_t off = sl_sock_is_udp(sk) ? SL_SEND_ROOM : SL_TCP_HEADROOM;
	uint32_t len = sl_sock_is_udp(sk) ? room() : sl_zc_stream_room(sk);
	struct sl_lane *lane = sl_load(&sk->lane);
	unsigned done = 0;

	if (sl_frames_is_over(&lane->frames, x->nheld + BATCH, SHARE, 1))
		return 0;
	for (; done < sl_min(n, BATCH); done++) {
		buf[done] = (struct sl_zbuf){.len = len};
		if (!make(lane, x, off, &buf[done]))
			break;
	}
	return done;
}

SL_API
int sl_zc_alloc(int fd, struct sl_zbuf *buf, unsigned n)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_zbuf some[BATCH];
	unsigned done = 0, k = 1;
	struct sl_lane *lane;
	struct sl_extra *x;
	int err = -ENODATA;

	if (!sk)
		return -EINVAL;
	x = sl_extra_get(sk);
	if (!x)
		return -ENOMEM;
	sl_zc_wait_init();
	if (!sl_sock_lock(sk, &lane))
		return -EBUSY;
	if (lane != &sl_limbo && sl_sock_is_served(sk) &&
	    (sl_sock_is_udp(sk) || sl_zc_stream_room(sk)))
		err = -ENOBUFS;
	for (; err == -ENOBUFS && k && done < n; done += k) {
		k = make_some(sk, x, some, n - done);
		if (!sl_guard_copy(&buf[done], some, k * sizeof(*buf)))
			continue;
		err = -EFAULT;
		while (k)
			sl_kept_put(sk, x, lane, sl_kept_find(x, (uintptr_t)some[--k].id));
	}
	sl_lane_unlock(lane);
	return done || !n ? (int)done : err;
}

/* A call of sl_zc_send(). */
struct call {
	struct sl_sock *sk;
	struct sl_extra *x;
	struct sl_zbuf *buf;
	unsigned n;
	bool keep;
	bool numbers; /* MSG_ZEROCOPY */
	struct sl_tx_req r;
};

/* Whether a buffer can be sent: 0 or -errno. Lane held. */
static int judge(const struct sl_kept *h, const struct sl_zbuf *b)
{
	if (sl_unlikely(!h))
		return -ENOENT;
	if (sl_unlikely(b->len > room()))
		return -EINVAL;
	return sl_unlikely(sl_frame_refs(h->frame) > 1) ? -EBUSY : 0;
}

/* Posts one. False: it needs more than the straight way. Lane held. */
static bool post(struct call *c, struct sl_lane *lane, struct sl_kept *h, uint64_t now)
{
	bool stays = c->keep || c->numbers;

	if (sl_unlikely(c->numbers) && !sl_zc_may_wait(c->x))
		return false;
	if (stays)
		sl_frame_ref_single(h->frame);
	if (sl_likely(sl_send_filled(c->sk, lane, &c->r, h->frame, now))) {
		if (c->numbers)
			sl_zc_wait(c->sk, c->x, h, c->keep);
		else if (!c->keep)
			sl_kept_del(c->x, h);
		return true;
	}
	if (stays)
		sl_frame_put(&lane->frames, h->frame);
	return false;
}

/* True: the socket's datagrams may go the straight way. (Nobody tells when a paced one has left the
 * device.) Lane held. */
static bool is_straight(const struct call *c, const struct sl_lane *lane)
{
	if (sl_unlikely(c->numbers && sl_udp_sk_const(c->sk)->pacer))
		return false;
	return lane != &sl_limbo && c->sk->state == SL_STATE_OFFLOADED &&
	       !(c->r.flags & ~SL_SEND_OUR_FLAGS) && !(sl_load(&c->sk->os) & SL_OS_ERR);
}

/* Posts buffers from `from` on, as many as go the straight way; *err tells why a buffer cannot be
 * sent. Returns the place after the last. */
static unsigned post_many(struct call *c, unsigned from, int *err)
{
	struct sl_leg *leg = NULL;
	struct sl_lane *lane;
	unsigned i = from;
	uint64_t now = sl_now_ns();

	*err = 0;
	if (!sl_sock_lock(c->sk, &lane)) {
		*err = -EBUSY;
		return from;
	}
	for (; i < c->n; i++) {
		struct sl_kept *h = sl_kept_buffer(c->x, &c->buf[i]);

		*err = judge(h, &c->buf[i]);
		if (sl_unlikely(*err == -EBUSY)) {
			sl_lane_reap(lane);
			*err = judge(h, &c->buf[i]);
		}
		c->r.len = c->buf[i].len;
		if (*err || !is_straight(c, lane) || !post(c, lane, h, now))
			break;
		c->buf[i].flags = 0;
		leg = sl_udp_sk(c->sk)->path.leg;
		if ((i - from) % KICK_EVERY == KICK_EVERY - 1)
			sl_leg_kick(leg);
	}
	if (leg)
		sl_leg_kick(leg);
	sl_lane_unlock(lane);
	return i;
}

/* Sends one by a copy of its bytes. 0 or -errno. No lane held. */
static int send_copy(struct call *c, int fd, struct sl_zbuf *b)
{
	struct iovec iov;
	ssize_t n = sl_zc_bytes(c->sk, c->x, b, SL_SEND_ROOM, &iov);

	if (n < 0)
		return (int)n;
	c->r.iov = &iov;
	c->r.len = b->len;
	n = sl_dgram_send(c->sk, fd, &c->r);
	if (n < 0)
		return (int)n;
	sl_zc_copied(c->sk, c->x, b, c->numbers, c->keep);
	return 0;
}

SL_API
int sl_zc_send(int fd, struct sl_zbuf *buf, unsigned n, const struct sockaddr *name,
	       socklen_t namelen, int flags)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct call c = {
		.sk = sk,
		.x = sk ? sl_extra_of(sk) : NULL,
		.buf = buf,
		.n = n,
		.keep = flags & SL_ZC_KEEP,
		.numbers = flags & MSG_ZEROCOPY && sk && sk->zerocopy,
		.r = {.niov = 1,
		      .name = name,
		      .namelen = namelen,
		      .flags = flags & ~(SL_ZC_KEEP | MSG_ZEROCOPY)},
	};
	unsigned i = 0;
	int err;

	if (!sk)
		return -EINVAL;
	if (!c.x)
		return n ? -ENOENT : 0;
	if (sl_guard_touch(buf, n * sizeof(*buf)))
		return -EFAULT;
	if (!sl_sock_is_udp(sk))
		return sl_zc_stream(sk, c.x, fd, buf, n, flags);
	do {
		i = post_many(&c, i, &err);
		if (!err && i < n) {
			err = send_copy(&c, fd, &buf[i]);
			i += !err;
		}
	} while (!err && i < n);
	return i ? (int)i : err;
}

/* Counts the buffers that the device has, and with `give` gives all back. */
static int each(int fd, const struct sl_zbuf *buf, unsigned n, bool give)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_extra *x = sk ? sl_extra_of(sk) : NULL;
	struct sl_lane *lane;
	int busy = 0, err = 0;

	if (!sk)
		return -EINVAL;
	if (!x)
		return n ? -ENOENT : 0;
	if (sl_guard_touch(buf, n * sizeof(*buf)))
		return -EFAULT;
	if (!sl_sock_lock(sk, &lane))
		return -EBUSY;
	sl_lane_reap(lane);
	for (unsigned i = 0; i < n; i++) {
		struct sl_kept *h = sl_kept_buffer(x, &buf[i]);

		if (!h)
			err = -ENOENT;
		else if (give)
			sl_kept_put(sk, x, lane, h);
		else
			busy += sl_frame_refs(h->frame) > 1;
	}
	sl_lane_unlock(lane);
	return err ? err : busy;
}

SL_API
int sl_zc_busy(int fd, const struct sl_zbuf *buf, unsigned n)
{
	return each(fd, buf, n, false);
}

SL_API
int sl_zc_free(int fd, const struct sl_zbuf *buf, unsigned n)
{
	return each(fd, buf, n, true);
}
