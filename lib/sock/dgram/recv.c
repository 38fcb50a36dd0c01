/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive calls: our queue first, the shadow's merged in, then spin, then sleep.
 *
 * Theory of operation: the kernel's queue costs a system call to look at, so it is looked at only
 * when the keeper (edge-triggered on all shadows) has seen something, and, for a while after it
 * had something, every RX_UDP_POLL_OS_RATIO-th empty poll. Waiting (block.c) is done without the
 * lane's lock. */
#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/block.h"
#include "sock/core/cmsg.h"
#include "sock/core/errq.h"
#include "sock/core/extra.h"
#include "sock/core/iov.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"
#include "sock/core/spin.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/recv.h"
#include "stack/hwclock.h"

#define OS_HOT 100000 /* empty polls for which the kernel is looked at after it had data */

/* Our queue ------------------------------------------------------------------------------------ */

/* How many bytes there was room for, or -EFAULT. */
static ssize_t scatter(const struct iovec *iov, size_t niov, size_t skip, const uint8_t *data,
		       size_t len)
{
	size_t done = 0;

	for (size_t i = 0; i < niov && done < len; i++) {
		size_t room = iov[i].iov_len, n;

		if (skip >= room) {
			skip -= room;
			continue;
		}
		n = sl_min(room - skip, len - done);
		if (sl_unlikely(sl_guard_copy((uint8_t *)iov[i].iov_base + skip, data + done, n)))
			return -EFAULT;
		skip = 0;
		done += n;
	}
	return (ssize_t)done;
}

static SL_APART ssize_t put_pieces(const struct sl_rx_req *r, size_t skip, const struct sl_dgram *d)
{
	struct sl_piece piece[SL_RX_BUFS];
	unsigned n = sl_dgram_pieces(d, piece);
	size_t done = 0;

	for (unsigned i = 0; i < n; i++) {
		ssize_t put = scatter(r->iov, r->niov, skip + done, piece[i].data, piece[i].len);

		if (put < 0)
			return put;
		done += (size_t)put;
	}
	return (ssize_t)done;
}

/* The payload of d, or the part that there is room for. -EFAULT: a buffer is not there. */
static inline ssize_t put_payload(const struct sl_rx_req *r, size_t skip, const struct sl_dgram *d)
{
	if (sl_unlikely(d->nmore))
		return put_pieces(r, skip, d);
	return scatter(r->iov, r->niov, skip, sl_dgram_data(d), d->len);
}

static inline __attribute__((always_inline)) int
put_name(const struct sl_sock *sk, const struct sl_dgram *d, struct msghdr *msg)
{
	struct sl_addr src;
	uint16_t port;

	if (!msg->msg_name) {
		msg->msg_namelen = 0;
		return 0;
	}
	sl_dgram_addrs(d, &src, &port, NULL);
	return sl_addr_to_sockaddr(&src, port, d->ifindex, sk->family, msg->msg_name,
				   &msg->msg_namelen);
}

/* True: d may be merged behind first, as inet_gro_receive() and udp_gro_receive_segment() do: one
 * flow, headers that differ only in lengths and sums, and no empty datagram. */
static bool may_follow(const struct sl_dgram *first, const struct sl_dgram *d)
{
	const uint8_t *h = sl_frame_ptr(first->frame) + first->off;
	const uint8_t *h2 = sl_frame_ptr(d->frame) + d->off;
	size_t alen = d->v6 ? 32 : 8, aoff = d->v6 ? 8u : 12u;

	return d->len && d->len <= first->len && d->v6 == first->v6 &&
	       d->l4 - d->l3 == first->l4 - first->l3 && d->tos == first->tos &&
	       d->ttl == first->ttl && memcmp(h + first->l3 + aoff, h2 + d->l3 + aoff, alen) == 0 &&
	       memcmp(h + first->l4, h2 + d->l4, 4) == 0;
}

/* UDP_GRO: further datagrams of the same flow and size go into the same buffer, as the kernel's
 * coalescing would have had it; the last one may be shorter. Returns the bytes added. */
static size_t coalesce(struct sl_udp *u, struct sl_lane *lane, const struct sl_rx_req *r,
		       const struct sl_dgram *first, size_t room)
{
	size_t total = first->len;
	const struct sl_dgram *d;
	unsigned n = 1;
	bool last = false;

	while (!last && n < 64 && (d = sl_udp_peek_at(u, n)) && may_follow(first, d) &&
	       total + d->len <= room && total + d->len <= 65535 && put_payload(r, total, d) >= 0) {
		total += d->len;
		n++;
		last = d->len < first->len;
	}
	for (unsigned i = 1; i < n; i++) /* the first is popped by the caller, last */
		sl_udp_pop(u, &lane->frames);
	return total - first->len;
}

/* Takes the oldest datagram into the caller's buffer; lane held, queue not empty. Inline: u is a
 * constant offset on the fast path. */
static inline __attribute__((always_inline)) ssize_t
take(struct sl_sock *sk, struct sl_udp *u, struct sl_lane *lane, const struct sl_rx_req *r)
{
	struct sl_dgram d = *sl_udp_peek(u);
	ssize_t put = put_payload(r, 0, &d);
	size_t copied = (size_t)put, full = d.len;
	bool peek = r->flags & MSG_PEEK, gro = (sk->want & SL_WANT_GRO) && !peek && r->msg;

	if (sl_unlikely(put < 0)) { /* udp_recvmsg(): the datagram is gone all the same */
		if (!peek)
			sl_udp_pop(u, &lane->frames);
		sk->stats->rx_errors++;
		return put;
	}
	if (sl_unlikely(gro)) {
		/* coalesce() pops from the front: hold the first frame for its headers */
		sl_frame_ref(d.frame);
		full += coalesce(u, lane, r, &d, r->len);
		copied += full - d.len;
	}
	if (r->msg) {
		if (sl_unlikely(put_name(sk, &d, r->msg)))
			put = -EFAULT;
		r->msg->msg_flags = (r->flags & MSG_CMSG_CLOEXEC) | (copied < full ? MSG_TRUNC : 0);
		sl_cmsg_put(sk, &d, full > d.len ? d.len : 0, r->msg);
	}
	if (sl_likely(!peek))
		sl_udp_pop(u, &lane->frames);
	if (sl_unlikely(gro))
		sl_frame_put(&lane->frames, d.frame);
	if (sl_unlikely(put < 0)) {
		sk->stats->rx_errors++;
		return put;
	}
	return (ssize_t)(sl_unlikely(r->flags & MSG_TRUNC) ? full : copied);
}

struct sl_dgram_came sl_dgram_came(const struct sl_dgram *d)
{
	struct sl_dgram_came came = {.ns = d->stamp_ns};

	if (d->stamp & SL_META_HW)
		came.hw_ns = sl_hw_came_ns(d->ifindex, sl_hw_stamp(d->frame, d->off));
	return came;
}

void sl_dgram_note_read(struct sl_sock *sk, const struct sl_dgram_came *came)
{
	uint64_t now_ns = sl_now_ns();

	sk->stats->rx_thread = sl_tid();
	sl_times_note(&sk->stats->time[SL_TIME_RX_WAIT], came->ns, now_ns);
	if (came->hw_ns)
		sl_times_note(&sk->stats->time[SL_TIME_RX_WIRE], came->hw_ns, now_ns);
}

/* Receives from our queue. -EAGAIN: it is empty. -EDEADLK: this signal handler has interrupted its
 * thread's own turn of the lane. timed: counts how long the datagram has waited. */
static inline __attribute__((always_inline)) ssize_t
from_queue_by(struct sl_sock *sk, const struct sl_rx_req *r, bool timed)
{
	struct sl_udp *u = &sl_udp_sk(sk)->udp;
	struct sl_dgram_came came = {0};
	struct sl_lane *lane;
	ssize_t n = -EAGAIN;

	if (sl_unlikely(!sl_sock_lock(sk, &lane)))
		return -EDEADLK;
	if (sl_udp_queued(u) == 0)
		sl_lane_turn_locked(lane);
	if (sl_udp_queued(u)) {
		if (timed)
			came = sl_dgram_came(sl_udp_peek(u));
		n = take(sk, u, lane, r);
		if (timed && n >= 0 && !(r->flags & MSG_PEEK))
			sl_dgram_note_read(sk, &came);
	}
	sl_lane_unlock(lane);
	return n;
}

static ssize_t from_queue(struct sl_sock *sk, const struct sl_rx_req *r)
{
	return from_queue_by(sk, r, false);
}

/* With SLUICE_LATENCY_STATS. */
static SL_APART ssize_t from_queue_timed(struct sl_sock *sk, const struct sl_rx_req *r)
{
	return from_queue_by(sk, r, true);
}

/* Receives what the callback of the socket lets pass. As from_queue(). */
static SL_APART ssize_t from_accepted(struct sl_sock *sk, const struct sl_rx_req *r)
{
	struct sl_udp *u = &sl_udp_sk(sk)->extra->accepted, before;
	struct sl_lane *lane;
	ssize_t n = -EAGAIN;

	if (sl_udp_queued(u) == 0)
		sl_extra_ops->filter(sk);
	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	before = *u;
	if (sl_udp_queued(u)) {
		n = take(sk, u, lane, r);
		sl_extra_uncharge(sk, &before);
	}
	sl_lane_unlock(lane);
	return n;
}

/* The kernel's queue -----------------------------------------------------------------------------
 */

/* Another process may have shut the socket down, in the kernel alone. */
static SL_COLD void look_for_shutdown(struct sl_sock *sk, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	const struct timespec zero = {0, 0};

	if (sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0 && p.revents & POLLRDHUP)
		sl_store(&sl_udp_sk(sk)->udp.rx_shut, true);
}

/* (An empty queue is no result of the program's call, and not counted.) */
static ssize_t from_kernel(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	struct msghdr none = {.msg_iov = sl_unconst(r->iov), .msg_iovlen = r->niov};
	struct msghdr *m = r->msg ? r->msg : &none;
	uint8_t had = __atomic_exchange_n(&sk->os, 0, __ATOMIC_ACQ_REL);
	ssize_t n = -sl_sock_kept_error(sk);

	if (sl_likely(!n))
		n = sl_sys_recvmsg(fd, m, (r->flags & ~MSG_WAITFORONE) | MSG_DONTWAIT);

	sl_udp_sk(sk)->os_count = 0;
	if (n == -EAGAIN) {
		if (sl_unlikely(had & SL_OS_ERR)) /* the queue of errors is not read */
			sl_sock_look_error(sk, fd);
		if (had & SL_OS_IN) /* readable, and nothing is there */
			look_for_shutdown(sk, fd);
		return n;
	}
	if (n < 0) /* before the keeper has seen it */
		sl_sock_path_again(sk);
	/* More may be there: look again next time, until it says EAGAIN. */
	__atomic_fetch_or(&sk->os, had | SL_OS_IN, __ATOMIC_RELEASE);
	sl_udp_sk(sk)->os_hot = OS_HOT;
	sl_stats_rx_os(sk->stats, n, r->flags & MSG_PEEK);
	return n;
}

/* True: it is time to look at the kernel's queue. */
static bool os_due(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	if (sl_load(&sk->os))
		return true;
	if (sl_likely(us->os_hot == 0))
		return false;
	us->os_hot--;
	return ++us->os_count >= (uint32_t)sl_settings.rx_udp_poll_os_ratio &&
	       sl_settings.rx_udp_poll_os_ratio > 0;
}

/* When both have data they take turns, so neither starves; a look at the next datagram finds the
 * one that the next call takes. The keeper gives the first turn to the older one when it sees the
 * kernel's (shadow.c). */
static bool is_kernels_turn(struct sl_udp_sock *us, const struct sl_rx_req *r)
{
	bool turn = !us->os_turn;

	if (!(r->flags & MSG_PEEK))
		us->os_turn = turn;
	return turn;
}

/* SLUICE_RX_CQ_DRAIN_RATE_NSEC: turns the lane although data is queued, so that the rings do not
 * run full behind a program that reads slowly. (With an empty queue from_queue() turns it.) */
static SL_APART void drain(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint64_t now_ns = sl_now_ns();
	struct sl_lane *lane;

	if (now_ns - us->drained_ns < (uint64_t)sl_settings.rx_cq_drain_rate_nsec)
		return;
	us->drained_ns = now_ns;
	if (!sl_sock_lock(sk, &lane))
		return;
	if (sl_udp_queued(&us->udp))
		sl_lane_turn_locked(lane);
	sl_lane_unlock(lane);
}

/* Does as from_queue() does. -ESTALE: some have moved to the kernel since lent_moves was that. */
static ssize_t from_unmoved(struct sl_sock *sk, const struct sl_rx_req *r, uint32_t moves)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *lane;
	ssize_t n = -EAGAIN;

	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	if (sl_udp_queued(&us->udp) == 0)
		sl_lane_turn_locked(lane);
	if (us->lent_moves != moves)
		n = -ESTALE;
	else if (sl_udp_queued(&us->udp))
		n = take(sk, &us->udp, lane, r);
	sl_lane_unlock(lane);
	return n;
}

/* Packets that are on the ring when the claims go are older than those that the kernel gets from
 * then on. So a call that finds none here waits for the end of the claims, for which the keeper
 * asks the daemon. */
static SL_APART ssize_t from_rest(struct sl_sock *sk, const struct sl_rx_req *r, uint32_t moves)
{
	ssize_t n = from_unmoved(sk, r, moves);

	if (n != -EAGAIN || sl_load(&sl_udp_sk(sk)->lent_rest) != SL_REST_COMES ||
	    !sl_lock(&sk->slow))
		return n;
	sl_unlock(&sk->slow);
	return from_unmoved(sk, r, moves);
}

/* Receives from a socket that another program has, too. What has moved to the kernel is older than
 * what is in our queue; nothing moves here, since that costs a system call for each datagram. */
static ssize_t from_lent(struct sl_sock *sk, int fd, const struct sl_rx_req *r, bool os)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint32_t moves;
	bool moved;
	ssize_t n;

	sl_store(&us->lent_called, true);
	if (us->lent_keeps) {
		n = from_queue(sk, r);
		return n == -EAGAIN ? from_kernel(sk, fd, r) : n;
	}
	do {
		moves = sl_load_acquire(&us->lent_moves);
		moved = moves != sl_load(&us->lent_seen);
		if (!moved && sl_load_acquire(&us->lent_rest)) {
			n = from_rest(sk, r, moves);
			if (n == -ESTALE)
				continue;
			if (n != -EAGAIN)
				return n;
		}
		if (os || sl_sock_is_ruled(sk) || moved) {
			n = from_kernel(sk, fd, r);
			if (n != -EAGAIN)
				return n;
			sl_store(&us->lent_seen, moves);
		}
		n = from_unmoved(sk, r, moves);
	} while (n == -ESTALE);
	return n;
}

/* Sockets that are just claimed, have a callback, drain the rings, are timed, or may move.
 * -EREMOTE: go on as for any other. */
static SL_APART ssize_t try_odd(struct sl_sock *sk, int fd, const struct sl_rx_req *r, bool *os)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	ssize_t n;

	if (us->lent) {
		sl_lent_call(sk);
		return from_lent(sk, fd, r, *os);
	}
	/* The kernel's queue has datagrams from before the claim: they are older. */
	if (us->os_first) {
		n = from_kernel(sk, fd, r);
		if (n != -EAGAIN)
			return n;
		us->os_first = *os = false;
	}
	if (us->drains)
		drain(sk);
	if (us->moves)
		sl_sock_count_recv(sk);
	if (!us->filtered && !us->rx_timed)
		return -EREMOTE;
	if (*os && is_kernels_turn(us, r)) {
		n = from_kernel(sk, fd, r);
		if (n != -EAGAIN)
			return n;
		*os = false;
	}
	n = us->filtered ? from_accepted(sk, r) : from_queue_timed(sk, r);
	if (n != -EAGAIN || !*os)
		return n;
	return from_kernel(sk, fd, r);
}

static ssize_t try_once(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	bool os = os_due(sk);
	ssize_t n;

	if (sl_unlikely(us->rx_odd)) {
		n = try_odd(sk, fd, r, &os);
		if (n != -EREMOTE)
			return n;
	}
	if (sl_unlikely(os && (sl_load(&sk->error) || is_kernels_turn(us, r)))) {
		n = from_kernel(sk, fd, r);
		if (n != -EAGAIN)
			return n;
		os = false;
	}
	n = from_queue_by(sk, r, false);
	if (n != -EAGAIN || !os)
		return n;
	return from_kernel(sk, fd, r);
}

/* Waiting -------------------------------------------------------------------------------------- */

struct rx_call {
	struct sl_sock *sk;
	int fd;
	const struct sl_rx_req *r;
};

/* A blocking call that finds no data after shutdown(SHUT_RD): __skb_wait_for_more_packets(). */
static SL_COLD ssize_t end_of_data(const struct sl_rx_req *r)
{
	if (r->msg) {
		r->msg->msg_namelen = 0;
		r->msg->msg_controllen = 0;
		r->msg->msg_flags = r->flags & MSG_CMSG_CLOEXEC;
	}
	return 0;
}

/* Attempts to receive, for sl_sock_block(). -EREMCHG: go on in the kernel. */
static ssize_t attempt(void *arg)
{
	const struct rx_call *c = arg;
	ssize_t n = try_once(c->sk, sl_sock_number(c->sk, c->fd), c->r);

	if (sl_likely(n != -EAGAIN))
		return n;
	if (sl_unlikely(sl_udp_sk(c->sk)->udp.rx_shut))
		return end_of_data(c->r);
	if (sl_unlikely(sl_load(&c->sk->state) == SL_STATE_KERNEL) && !sl_sock_queued(c->sk))
		return -EREMCHG;
	return -EAGAIN;
}

static ssize_t wait_for(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	uint64_t deadline = sl_sock_deadline(sk->rcvtimeo_ns);
	struct rx_call c = {sk, fd, r};
	ssize_t n = sl_sock_block(sk, fd, deadline, attempt, &c);

	return n == -ETIMEDOUT ? -EAGAIN : n;
}

/* Calls ---------------------------------------------------------------------------------------- */

/* SLUICE_RX_POLL_INIT: a socket that is not offloaded polls the kernel so often before it sleeps
 * there. -EAGAIN: found nothing. */
static ssize_t poll_kernel(struct sl_sock *sk, int fd, struct msghdr *m, int flags)
{
	uint64_t now = sl_now_ns(), end = sk->rcvtimeo_ns ? now + sk->rcvtimeo_ns : UINT64_MAX;
	struct sl_call call = sl_call_begin(sk, fd, sk->rcvtimeo_ns);
	int64_t loops = sl_settings.rx_poll_init;
	struct sl_spin sp;
	ssize_t n;

	if (!sl_spin_begin(&sp, now))
		return -EAGAIN;
	for (int64_t i = 0; loops < 0 || i < loops; i++) {
		n = sl_sys_recvmsg(fd, m, flags | MSG_DONTWAIT);
		if (n != -EAGAIN)
			return n;
		n = sl_call_over(&call);
		if (n)
			return n;
		now = sl_now_ns();
		if (now >= end)
			return -ETIMEDOUT;
		if (!sl_spin_on(&sp, now))
			break;
	}
	return -EAGAIN;
}

static ssize_t kernel_call(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	struct msghdr none = {.msg_iov = sl_unconst(r->iov), .msg_iovlen = r->niov};
	struct msghdr *m = r->msg ? r->msg : &none;
	ssize_t n = r->niov > UIO_MAXIOV ? 0 : -sl_sock_kept_error(sk);

	if (sl_unlikely(n)) /* of before the socket became the kernel's */
		return n;
	n = -EAGAIN;
	if (sl_unlikely(sl_settings.rx_poll_init) && !sk->nonblock && !(r->flags & MSG_DONTWAIT))
		n = poll_kernel(sk, fd, m, r->flags);
	if (n == -EAGAIN)
		n = sl_sys_cancel(SYS_recvmsg, fd, m, r->flags);
	else if (n == -ETIMEDOUT)
		n = -EAGAIN;
	sl_stats_rx_os(sk->stats, n, r->flags & MSG_PEEK);
	return n;
}

/* Receive calls off the fast path: the error queue, flags that only the kernel knows, too many
 * buffers, and sockets of the kernel's. */
static ssize_t receive_special(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	struct msghdr none = {.msg_iov = sl_unconst(r->iov), .msg_iovlen = r->niov};
	ssize_t n;

	if (!(r->flags & MSG_ERRQUEUE)) {
		n = sl_udp_sk(sk)->filtered ? from_accepted(sk, r) : -EAGAIN;
		return n == -EAGAIN ? kernel_call(sk, fd, r) : n;
	}
	n = sl_errq_recv(sk, fd, r->msg ? r->msg : &none, r->flags);
	if (n >= 0)
		sl_sock_path_again(sk);
	return n;
}

ssize_t sl_dgram_from_kernel(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	ssize_t n = -EAGAIN;

	if (os_due(sk) || sl_udp_sk(sk)->os_first || sl_sock_is_lent(sk))
		n = from_kernel(sk, fd, r);
	if (n == -EAGAIN)
		sl_udp_sk(sk)->os_first = false;
	return n;
}

ssize_t sl_dgram_recv(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	ssize_t n;

	sl_sock_part(sk);
	if (sl_unlikely((r->flags & MSG_ERRQUEUE) || r->niov > UIO_MAXIOV ||
			(sk->state == SL_STATE_KERNEL && !sl_udp_queued(&sl_udp_sk(sk)->udp))))
		return receive_special(sk, fd, r);
	n = try_once(sk, fd, r);
	if (sl_likely(n != -EAGAIN)) {
		if (sl_unlikely(n == -EDEADLK))
			return sl_sys_recvfrom(fd, NULL, 0, MSG_DONTWAIT | MSG_PEEK, NULL, NULL) ==
					       -EBADF
				       ? -EBADF
				       : -EAGAIN;
		sk->stats->rx_poll_hit++;
		return n;
	}
	if (sk->nonblock || (r->flags & MSG_DONTWAIT)) {
		/* Callers like this come again at once: leave the core's other thread some room. */
		sl_cpu_relax();
		if (sl_unlikely((++sk->stats->rx_eagain & 1023) == 0))
			sl_shadow_look(); /* the keeper may not get a core */
		return -EAGAIN;
	}
	n = wait_for(sk, fd, r);
	return n == -EREMCHG ? kernel_call(sk, sl_sock_number(sk, fd), r) : n;
}
