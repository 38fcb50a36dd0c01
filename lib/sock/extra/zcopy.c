/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives without a copy: the program gets pointers into the frames, and holds them. Streams are
 * in zcopy_stream.c. */
#include <errno.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/sys.h"
#include "sluice.h"
#include "sluice_extra.h"
#include "sock/core/block.h"
#include "sock/core/mail.h"
#include "sock/dgram/recv.h"
#include "sock/extra/kept.h"
#include "stack/hwclock.h"

struct zcopy {
	struct sl_sock *sk;
	struct sl_extra *x;
	int fd;
	void *buf;
	size_t len;
	int flags; /* without SL_ZCOPY_FORCE */
	bool force, zcopy;
	struct sockaddr *from;
	socklen_t *fromlen;
};

__thread uint64_t sl_zcopy_hw_ns;

/* Flags that a receive without copy serves itself. */
#define OUR_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC | MSG_TRUNC)

static int put_name(const struct zcopy *z, const struct sl_dgram *d)
{
	struct sockaddr_in6 sa;
	struct sl_addr src;
	uint16_t port;
	socklen_t room, len = sizeof(sa);

	sl_dgram_addrs(d, &src, &port, NULL);
	sl_addr_to_sockaddr(&src, port, d->ifindex, z->sk->family, (struct sockaddr *)&sa, &len);
	if (sl_guard_copy(&room, z->fromlen, sizeof(room)) ||
	    sl_guard_copy(z->from, &sa, sl_min(room, len)) ||
	    sl_guard_copy(z->fromlen, &len, sizeof(len)))
		return -EFAULT;
	return 0;
}

static SL_APART void list_pieces(const struct sl_dgram *d, struct sl_list_of_one *l)
{
	struct sl_piece piece[SL_RX_BUFS];

	l->niov = sl_dgram_pieces(d, piece);
	for (size_t i = 0; i < l->niov; i++)
		l->iov[i] = (struct iovec){sl_unconst(piece[i].data), piece[i].len};
}

/* Gives the program the oldest datagram of the queue, which is not empty. Lane held. */
static inline __attribute__((always_inline)) ssize_t take(struct zcopy *z, struct sl_udp *u)
{
	const struct sl_dgram *d = sl_udp_peek(u);
	ssize_t n = d->len;
	struct sl_list_of_one l;

	l.count = l.niov = 1;
	l.iov[0] = (struct iovec){sl_unconst(sl_dgram_data(d)), d->len};
	if (sl_unlikely(d->nmore))
		list_pieces(d, &l);
	if (sl_unlikely(z->len < SL_LIST_BYTES(l.niov)))
		return -ENOBUFS;
	if (z->from && put_name(z, d))
		return -EFAULT;
	l.id = (void *)(uintptr_t)sl_kept_add(z->x, d->frame, d->nmore, d->truesize);
	if (sl_unlikely(!l.id))
		return -ENOMEM;
	if (sl_guard_copy(z->buf, &l, SL_LIST_BYTES(l.niov))) {
		sl_kept_del(z->x, sl_kept_find(z->x, (uint64_t)(uintptr_t)l.id));
		return -EFAULT;
	}
	if (sl_unlikely(u != &sl_udp_sk(z->sk)->udp)) {
		/* In the queue of the socket it has stayed charged, as detached. */
		u->charged -= d->truesize;
		u->more -= d->nmore + 1u;
	}
	if (sl_unlikely(d->stamp & SL_META_HW))
		sl_zcopy_hw_ns = sl_hw_time(d->ifindex, sl_hw_stamp(d->frame, d->off));
	sl_udp_detach(u, d);
	z->zcopy = true;
	return n;
}

/* The oldest datagram of our own queue. */
static inline __attribute__((always_inline)) ssize_t take_ours(struct zcopy *z)
{
	struct sl_udp *u = &sl_udp_sk(z->sk)->udp;
	struct sl_lane *lane;
	ssize_t n = -EAGAIN;

	if (sl_unlikely(!sl_sock_lock(z->sk, &lane)))
		return -EDEADLK;
	if (!sl_udp_queued(u))
		sl_lane_turn_locked(lane);
	if (sl_udp_queued(u))
		n = take(z, u);
	sl_lane_unlock(lane);
	return n;
}

/* Takes from a socket that has a callback (what it let pass), or is timed. */
static SL_APART ssize_t take_odd(struct zcopy *z)
{
	struct sl_udp_sock *us = sl_udp_sk(z->sk);
	struct sl_udp *u = us->filtered ? &z->x->accepted : &us->udp;
	struct sl_dgram_came came;
	struct sl_lane *lane;
	ssize_t n = -EAGAIN;

	if (us->filtered && !sl_udp_queued(u))
		sl_filter_run(z->sk);
	if (!sl_sock_lock(z->sk, &lane))
		return -EDEADLK;
	if (!us->filtered && !sl_udp_queued(u))
		sl_lane_turn_locked(lane);
	if (sl_udp_queued(u)) {
		came = us->rx_timed ? sl_dgram_came(sl_udp_peek(u)) : (struct sl_dgram_came){0};
		n = take(z, u);
		if (us->rx_timed && n >= 0)
			sl_dgram_note_read(z->sk, &came);
	}
	sl_lane_unlock(lane);
	return n;
}

/* Data that the kernel has for the socket are copied. */
static ssize_t copy_kernels(const struct zcopy *z)
{
	struct iovec iov = {z->buf, z->len};
	struct msghdr msg = {.msg_name = z->from, .msg_iov = &iov, .msg_iovlen = 1};
	struct sl_rx_req r = {&iov, 1, &msg, z->flags, z->len};
	ssize_t n;

	if (z->from && sl_guard_copy(&msg.msg_namelen, z->fromlen, sizeof(socklen_t)))
		return -EFAULT;
	n = sl_dgram_from_kernel(z->sk, z->fd, &r);
	if (n >= 0 && z->from && sl_guard_copy(z->fromlen, &msg.msg_namelen, sizeof(socklen_t)))
		return -EFAULT;
	return n;
}

/* True: the kernel has a datagram, which SL_ZCOPY_FORCE does not want copied. */
static bool kernel_has(const struct zcopy *z)
{
	return sl_load(&z->sk->os) &&
	       sl_sys_recvfrom(z->fd, NULL, 0, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) >= 0;
}

static inline __attribute__((always_inline)) ssize_t attempt_now(struct zcopy *z)
{
	struct sl_udp_sock *us = sl_udp_sk(z->sk);
	bool kernel_first = us->os_first || (us->lent && !us->lent_keeps) ||
			    (sl_load(&z->sk->os) && (us->os_turn ^= 1));
	ssize_t n;

	if (sl_unlikely(kernel_first) && !z->force) {
		n = copy_kernels(z);
		if (n != -EAGAIN)
			return n;
	}
	n = sl_likely(!us->rx_odd) ? take_ours(z) : take_odd(z);
	if (sl_likely(n != -EAGAIN))
		return n;
	n = z->force ? (kernel_has(z) ? -EIO : -EAGAIN) : copy_kernels(z);
	if (n != -EAGAIN)
		return n;
	if (us->udp.rx_shut)
		return 0;
	return sl_load(&z->sk->state) == SL_STATE_KERNEL && !sl_sock_queued(z->sk) ? -EREMCHG
										   : -EAGAIN;
}

static SL_APART ssize_t attempt(void *arg)
{
	return attempt_now(arg);
}

/* No datagram was there. */
static SL_APART ssize_t wait_for(struct zcopy *z, ssize_t n)
{
	uint64_t wait_ns = z->sk->rcvtimeo_ns;

	if (n == -EAGAIN && !z->sk->nonblock && !(z->flags & MSG_DONTWAIT))
		n = sl_sock_block(z->sk, z->fd, wait_ns ? sl_now_ns() + wait_ns : 0, attempt, z);
	if (n == -EREMCHG)
		n = z->force ? -EIO
			     : sl_recvfrom(z->fd, z->buf, z->len, z->flags, z->from, z->fromlen);
	return n == -ETIMEDOUT || n == -EDEADLK ? -EAGAIN : n;
}

static inline ssize_t receive(struct zcopy *z)
{
	ssize_t n = attempt_now(z);

	return sl_likely(n >= 0) ? n : wait_for(z, n);
}

/* Like recv(2) of a stream, it tells no name. */
static ssize_t receive_stream(struct zcopy *z)
{
	socklen_t none = 0;
	ssize_t n = sl_zcopy_stream(z->sk, z->x, z->fd, z->buf, z->len, z->flags, z->force);

	if (n == -EREMCHG)
		return sl_recvfrom(z->fd, z->buf, z->len, z->flags, z->from, z->fromlen);
	z->zcopy = n > 0;
	if (n >= 0 && z->from && sl_guard_copy(z->fromlen, &none, sizeof(none)))
		return -EFAULT;
	return n;
}

SL_API
ssize_t sl_recv_zcopy(int fd, void *buf, size_t len, int *flags, struct sockaddr *from,
		      socklen_t *fromlen)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int in = flags ? *flags : 0;
	struct zcopy z = {
		.sk = sk,
		.fd = fd,
		.buf = buf,
		.len = len,
		.flags = in & ~(SL_ZCOPY_FORCE | SL_ZCOPY),
		.force = in & SL_ZCOPY_FORCE,
		.from = from,
		.fromlen = fromlen,
	};
	ssize_t n;

	if (!sk)
		return -EINVAL;
	if (flags)
		*flags = 0;
	z.x = sl_extra_of(sk);
	if (sl_unlikely(z.flags & ~OUR_FLAGS) || (sl_unlikely(!z.x) && !(z.x = sl_extra_get(sk))))
		return z.force ? -EOPNOTSUPP : sl_recvfrom(fd, buf, len, z.flags, from, fromlen);
	sl_sock_part(sk);
	n = sl_likely(sl_sock_is_udp(sk)) ? receive(&z) : receive_stream(&z);
	if (sl_likely(z.zcopy) && flags)
		*flags = SL_ZCOPY;
	if (sl_likely(n >= 0))
		sk->stats->rx_poll_hit++;
	else if (n == -EAGAIN && sl_sock_is_udp(sk))
		sk->stats->rx_eagain++;
	return n;
}

SL_API
int sl_free_packets(int fd, const struct sl_packet *packets, size_t n)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_extra *x = sk ? sl_extra_of(sk) : NULL;
	struct sl_lane *lane;
	int err = 0;

	if (!sk)
		return -EINVAL;
	if (!x)
		return n ? -ENOENT : 0;
	if (sl_guard_touch(packets, n * sizeof(*packets)))
		return -EFAULT;
	if (!sl_sock_lock(sk, &lane))
		return -EBUSY;
	for (size_t i = 0; i < n; i++) {
		struct sl_kept *h = sl_kept_find(x, (uint64_t)(uintptr_t)packets[i].id);

		if (sl_likely(h != NULL))
			sl_kept_put(sk, x, lane, h);
		else
			err = -ENOENT;
	}
	sl_lane_unlock(lane);
	return err;
}
