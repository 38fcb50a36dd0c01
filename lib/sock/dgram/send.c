/* SPDX-License-Identifier: BSD-2-Clause */
/* Send calls: each datagram goes out by us or through the kernel.
 *
 * Theory of operation: nearly every datagram is a plain one to the last destination: it takes the
 * straight way (send_put.c) without further checks. Others need a closer look: control data,
 * segments, another destination. Datagrams that we cannot send (unresolved neighbour, too long,
 * options, local destination) go through the shadow. Order is kept: while the kernel's queues hold
 * a datagram of the socket, later ones go through the kernel, too. */
#include "sock/dgram/send.h"

#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/errq.h"
#include "sock/core/block.h"
#include "sock/core/endpoint.h"
#include "sock/core/mail.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "stack/pace.h"
#include "stack/port.h"

/* Frames put on the ring before a kick, in calls that send many. */
#define KICK_EVERY   32
#define TX_HEADERS   42          /* of a datagram that the kernel sends, about */
#define MAX_GSO_SEGS 128         /* UDP_MAX_SEGMENTS */
#define BEHIND_MOST  255         /* after so many, a busy sender may leave the kernel's queues */
#define ERROR_WAITS  (-ERESTART) /* of send_by(): the kernel may have an error to tell first */

/* True: only the kernel can serve this request. */
static bool wants_kernel(const struct sl_sock *sk, const struct sl_tx_req *r)
{
	const struct sl_udp_sock *us = sl_udp_sk_const(sk);

	if (sl_unlikely(us->cork || us->more || (r->flags & ~SL_SEND_OUR_FLAGS) || us->tx_shut))
		return true;
	return r->len > 65507 || r->niov > UIO_MAXIOV || sk->state != SL_STATE_OFFLOADED;
}

/* True: the kernel's queues (qdisc, byte queue limits) may still hold datagrams of this socket,
 * which a later one must not overtake. */
static SL_APART bool is_behind(struct sl_sock *sk)
{
	int n = 0;

	if (--sl_udp_sk(sk)->behind && sl_sys_ioctl(sk->fd, SIOCOUTQ, &n) == 0 && n > 0)
		return true;
	sl_udp_sk(sk)->behind = 0;
	return false;
}

/* True: no checksum is wanted; then the kernel makes no segments (udp_send_skb()). */
static bool has_no_csum(const struct sl_sock *sk, const struct sl_path *p)
{
	return p->hdr.v6 ? sl_udp_sk_const(sk)->no_csum6 : sl_udp_sk_const(sk)->no_csum;
}

/* Counts how long n datagrams took to the ring, whose send calls began at since_ns. A paced
 * socket's datagrams wait in a queue of their own and are not counted. */
static SL_COLD void note_sent(struct sl_sock *sk, uint64_t since_ns, unsigned n)
{
	uint64_t now_ns = sl_now_ns();

	sk->stats->tx_thread = sl_tid();
	if (sl_load(&sl_udp_sk(sk)->pacer))
		return;
	while (n--)
		sl_times_note(&sk->stats->time[SL_TIME_TX_CALL], since_ns, now_ns);
}

/* Sends by the path p, with the settings of ctl. The socket's lane is held. */
static ssize_t send_by(struct sl_sock *sk, const struct sl_tx_req *r, uint64_t now,
		       struct sl_path *p, const struct sl_tx_ctl *ctl, struct sl_leg **leg_out)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *lane = sk->lane;
	size_t gso, seg, sent;
	bool ok;
	int err;

	if (!sl_send_is_same(p, r)) {
		err = sl_send_find(sk, r, p);
		if (sl_unlikely(err < 0))
			return err;
	}
	if (sl_unlikely(ctl->special && ctl->oif))
		p->oif = ctl->oif;
	if (sl_unlikely(!sl_path_is_fresh(p, now)))
		sl_send_make_path(sk, lane, p, ctl, now);
	gso = ctl->has_gso ? ctl->gso : us->gso_size;
	seg = sl_likely(!gso || gso > r->len) ? r->len : gso;
	if (sl_unlikely(!p->leg || (seg > p->max_payload && !sl_send_takes_long(sk, p, seg)) ||
			(seg && (r->len + seg - 1) / seg > MAX_GSO_SEGS)))
		return SL_SEND_BY_OS;
	if (sl_unlikely(us->stamps & SOF_TIMESTAMPING_TX_HARDWARE) && sl_errq_is_os(p->leg))
		return SL_SEND_BY_OS;
	if (sl_unlikely(gso) && has_no_csum(sk, p))
		return SL_SEND_BY_OS; /* EINVAL */
	if (sl_unlikely(us->behind) && is_behind(sk))
		return SL_SEND_BY_OS;
	/* Like sock_alloc_send_skb(): when nothing is wrong with the call itself. */
	if (sl_unlikely(sl_load(&sk->os) & SL_OS_ERR))
		return ERROR_WAITS;
	*leg_out = p->leg;
	sent = sl_send_put(sk, lane, p, r, seg, &ok);
	if (sl_unlikely(!ok && sent == 0)) {
		sl_send_block(sk, lane);
		return p->leg->dead ? SL_SEND_BY_OS : -EAGAIN;
	}
	if (sl_unlikely(!ok)) /* the rest of the segments is dropped, as a full device queue does */
		sk->stats->tx_errors++;
	return (ssize_t)r->len;
}

/* ip6_datagram_send_ctl() refuses a device that is not there, which a lookup of the route with a
 * source passes over, and another device than the socket's, but for one of the same VRF. */
static bool may_send_by(struct sl_sock *sk, uint32_t ifindex)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint32_t gen = sl_load_acquire(&sl_route_gen); /* before, so that a change outdates it */
	struct sl_link link;

	if (!ifindex || sk->family != AF_INET6)
		return true;
	if (sk->bound_if && ifindex != sk->bound_if)
		return false;
	if (ifindex == us->sends_by && gen == us->sends_by_gen)
		return true;
	if (!sl_link_get(ifindex, &link))
		return false;
	us->sends_by = ifindex;
	us->sends_by_gen = gen;
	return true;
}

/* Sends a message with control data, which may also ask for stamps of this message alone. */
static SL_COLD ssize_t send_controlled(struct sl_sock *sk, const struct sl_tx_req *r, uint64_t now,
				       struct sl_leg **leg_out)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_tx_ctl ctl = {.tos = -1, .ttl = -1};
	struct sl_path special, *p = &us->path;
	uint32_t stamps = us->stamps;
	ssize_t n;

	if (!sl_cmsg_get(sk, r->msg, &ctl))
		return SL_SEND_BY_OS;
	if (ctl.special) {
		if (!sl_addr_is_any(&ctl.src) && !sl_addr_is_local(&ctl.src))
			return SL_SEND_BY_OS; /* which refuses it, or has IP_TRANSPARENT */
		if (!may_send_by(sk, ctl.oif))
			return SL_SEND_BY_OS;
		special.d = NULL;
		p = &special;
	}
	if (ctl.asks && !sl_errq_make(sk))
		return SL_SEND_BY_OS;
	if (ctl.asks)
		us->stamps = ctl.stamps;
	n = send_by(sk, r, now, p, &ctl, leg_out);
	us->stamps = stamps;
	return n;
}

/* Sends with the lane held. Bytes, SL_SEND_BY_OS, or -errno. The caller kicks *leg_out. */
static ssize_t send_locked(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r,
			   uint64_t now, struct sl_leg **leg_out)
{
	static const struct sl_tx_ctl none = {.tos = -1, .ttl = -1};

	/* Another thread closed it or handed it back before we had the lane. */
	if (sl_unlikely(lane == &sl_limbo || sk->state != SL_STATE_OFFLOADED))
		return SL_SEND_BY_OS;
	if (sl_unlikely(r->msg && r->msg->msg_controllen))
		return send_controlled(sk, r, now, leg_out);
	return send_by(sk, r, now, &sl_udp_sk(sk)->path, &none, leg_out);
}

/* By the program's own call: sendmsg(2) cuts a name that is too long and takes an empty one for
 * none, where sendto(2) fails. */
static ssize_t call_kernel(int fd, const struct sl_tx_req *r)
{
	struct msghdr m = {
		.msg_name = sl_unconst(r->name),
		.msg_namelen = r->namelen,
		.msg_iov = sl_unconst(r->iov),
		.msg_iovlen = r->niov,
	};

	if (!r->msg && r->name && r->niov == 1)
		return sl_sys_cancel(SYS_sendto, fd, r->iov->iov_base, r->len, r->flags, r->name,
				     r->namelen);
	return sl_sys_cancel(SYS_sendmsg, fd, r->msg ? r->msg : &m, r->flags);
}

static ssize_t send_by_kernel(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	bool err = sl_load(&sk->os) & SL_OS_ERR;
	ssize_t n;

	if (sl_unlikely(err))
		sl_sock_take_error(sk);
	n = sl_unlikely(err) ? -sl_sock_kept_error(sk) : 0;
	if (sl_likely(!n))
		n = call_kernel(fd, r);
	if (sl_unlikely(err)) /* it waits still if the call ended before it came to it */
		sl_sock_look_error(sk, fd);
	if (n >= 0 && sl_unlikely(sk->errq != NULL))
		sl_errq_sent_by_os(sk, r->msg);
	if (n >= 0 && !sl_udp_sk(sk)->behind)
		sl_udp_sk(sk)->behind = BEHIND_MOST;
	sl_stats_tx_os(sk->stats, n);
	return n;
}

/* True: no device of ours takes this datagram to its destination: it stays on this host, has no
 * route, or is longer than any datagram. */
static bool is_kernels_alone(const struct sl_sock *sk, const struct sl_tx_req *r)
{
	struct sl_route_key key = {.oif = sk->bound_if, .mark = sk->mark};
	struct sl_route route;
	uint32_t scope;
	uint16_t port;

	if (r->len > UINT16_MAX)
		return true;
	if (!r->name || sl_addr_from_sockaddr(r->name, r->namelen, &key.dst, &port, &scope) < 0)
		return false;
	if (scope)
		key.oif = scope;
	else if (!key.oif && sl_addr_is_multicast(&key.dst))
		key.oif = sl_udp_sk_const(sk)->mc_oif;
	return sl_route_get(&key, &route) < 0 ||
	       (route.kind != SL_ROUTE_DEVICE && route.kind != SL_ROUTE_MULTICAST);
}

/* A fresh socket gets its port now, as the kernel would do it. */
static void first_send(struct sl_sock *sk, const struct sl_tx_req *r)
{
	int flags = r->flags;
	bool waits;

	sl_sock_part(sk);
	if (sk->state != SL_STATE_NEW)
		return;
	waits = !sk->nonblock && !(flags & MSG_DONTWAIT) && sl_sock_send_waits(sk) &&
		!is_kernels_alone(sk, r);
	if (sk->local_port != 0) {
		if (!waits || !sl_dgram_decide_now(sk))
			return;
	} else {
		if (!waits && sl_dgram_put_off(sk))
			return;
		sl_sock_autobind(sk);
	}
	sl_sock_wait_links(sk, flags);
}

/* True: drop the datagram, since the device cannot keep up, like a full queue of the kernel's; a
 * setting has the call fail instead. With a full send buffer it always fails, as the kernel's. */
static bool lost(const struct sl_sock *sk)
{
	const struct sl_udp_sock *us = sl_udp_sk_const(sk);

	return !sl_settings.tx_nonblocked_eagains && sl_load(&us->wmem) < us->sndbuf &&
	       !sl_load(&us->pacer);
}

/* A datagram through the kernel must not overtake paced ones, nor exceed the pace. */
static bool has_to_wait(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r)
{
	if (sl_likely(lane == &sl_limbo || !sl_udp_sk(sk)->pacer) ||
	    sl_pacer_pass(sl_udp_sk(sk)->pacer, lane, (uint32_t)r->len + TX_HEADERS))
		return false;
	sl_send_block(sk, lane);
	return true;
}

/* sendto(2) reads the name before the socket gets a port. */
static bool name_is_there(const struct sl_tx_req *r)
{
	const size_t most = sizeof(struct sockaddr_storage);

	return !r->name || ((r->msg || r->namelen <= most) &&
			    !sl_guard_touch(r->name, sl_min((size_t)r->namelen, most)));
}

/* There is memory wherever the program says: else the kernel, which finds that out, too, is asked
 * for the call's result. */
static bool memory_is_there(const struct sl_tx_req *r)
{
	if (r->msg && sl_guard_touch(r->msg->msg_control, r->msg->msg_controllen))
		return false;
	for (size_t i = 0; i < r->niov; i++)
		if (sl_guard_touch(r->iov[i].iov_base, r->iov[i].iov_len))
			return false;
	return name_is_there(r);
}

/* MSG_SYN, libvma's dummy send: goes the way of a send, without its last step, so that the next one
 * finds code, path and a frame in the caches. The kernel ignores that flag and would send. */
static SL_COLD ssize_t warm(struct sl_sock *sk, const struct sl_tx_req *given)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_tx_req r = *given;
	struct sl_lane *lane;
	ssize_t n = -EBUSY;
	uint32_t frame;

	r.flags &= ~MSG_SYN;
	if (wants_kernel(sk, &r) || !memory_is_there(&r) || !sl_sock_lock(sk, &lane))
		return n;
	if (lane != &sl_limbo && sk->state == SL_STATE_OFFLOADED &&
	    (sl_send_is_same(&us->path, &r) || sl_send_find(sk, &r, &us->path) == 0)) {
		if (!sl_path_is_fresh(&us->path, sl_now_ns()))
			sl_send_make_path(sk, lane, &us->path,
					  &(struct sl_tx_ctl){.tos = -1, .ttl = -1}, sl_now_ns());
		frame = us->path.leg && r.len <= us->path.max_payload ? sl_lane_frame(lane)
								      : SL_NO_FRAME;
		if (frame != SL_NO_FRAME) {
			uint8_t *at = sl_frame_ptr(frame) + SL_SEND_ROOM;

			for (size_t i = 0; i < r.niov; at += r.iov[i++].iov_len)
				if (sl_guard_copy(at, r.iov[i].iov_base, r.iov[i].iov_len))
					break;
			sl_build_udp(&us->path.hdr, sl_frame_ptr(frame) + SL_SEND_ROOM,
				     (uint16_t)r.len, 0, 0);
			sl_frame_put(&lane->frames, frame);
			sk->stats->tx_dummies++;
			n = (ssize_t)r.len;
		}
	}
	sl_lane_unlock(lane);
	return n;
}

/* (With flags that no such call has it is the kernel's MSG_SYN, which means nothing.) */
static bool is_dummy(const struct sl_tx_req *r)
{
	return r->flags & MSG_SYN && !(r->flags & ~(SL_SEND_OUR_FLAGS | MSG_SYN | MSG_MORE));
}

static ssize_t try_once(struct sl_sock *sk, int fd, const struct sl_tx_req *r,
			struct sl_lane **lane_out)
{
	uint64_t since_ns = sl_udp_sk(sk)->tx_timed ? sl_now_ns() : 0;
	struct sl_leg *leg = NULL;
	struct sl_lane *lane;
	ssize_t n;

	*lane_out = NULL;
	if (sl_unlikely(sk->state != SL_STATE_OFFLOADED) && name_is_there(r))
		first_send(sk, r);
	if (sl_unlikely(wants_kernel(sk, r) || !memory_is_there(r))) {
		if (is_dummy(r))
			return warm(sk, r);
		/* Without UDP_CORK the first send without MSG_MORE finishes the datagram. */
		sl_udp_sk(sk)->more = r->flags & MSG_MORE;
		return send_by_kernel(sk, fd, r);
	}
	if (!sl_sock_lock(sk, &lane))
		return send_by_kernel(sk, fd, r);
	n = send_locked(sk, lane, r, sl_now_ns(), &leg);
	if (sl_likely(leg != NULL) && sl_leg_kick(leg) == -ENODEV)
		n = SL_SEND_BY_OS;
	if (sl_unlikely(since_ns) && n >= 0)
		note_sent(sk, since_ns, 1);
	if (sl_unlikely(n == SL_SEND_BY_OS) && has_to_wait(sk, lane, r))
		n = -EAGAIN;
	sl_lane_unlock(lane);
	if (sl_unlikely(n == -EAGAIN))
		*lane_out = lane;
	if (sl_unlikely(n == ERROR_WAITS)) {
		n = sl_sock_pending_error(sk, fd);
		n = n ? n : try_once(sk, fd, r, lane_out);
		sl_sock_look_error(sk, fd); /* (the queue of errors is another matter) */
		return n;
	}
	return n == SL_SEND_BY_OS ? send_by_kernel(sk, fd, r) : n;
}

struct waiting {
	struct sl_sock *sk;
	int fd;
	const struct sl_tx_req *r;
};

/* True: the device of the last datagram's path is up, or there is none. No lane held. */
static bool device_runs(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *lane;
	struct sl_link link;
	uint32_t ifindex = 0;

	if (!sl_sock_lock(sk, &lane))
		return true;
	if (us->path.d && us->path.leg)
		ifindex = sl_load(&us->path.leg->port->info.ifindex);
	sl_lane_unlock(lane);
	return !ifindex || (sl_link_get(ifindex, &link) && link.flags & IFF_UP && link.carrier_up);
}

/* A device without a link may keep its ring full for ever: then the datagram goes through the
 * kernel, which drops it or knows another route. */
static ssize_t try_again(void *arg)
{
	const struct waiting *w = arg;
	struct sl_lane *lane;
	ssize_t n = try_once(w->sk, w->fd, w->r, &lane);

	if (!lane)
		return n;
	sl_lane_turn(lane);
	return device_runs(w->sk) ? n : send_by_kernel(w->sk, w->fd, w->r);
}

static ssize_t wait_for_room(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	struct waiting w = {sk, fd, r};
	uint64_t deadline = sl_sock_deadline(sk->sndtimeo_ns);
	ssize_t n = sl_sock_block_send(sk, fd, deadline, try_again, &w);

	return n == -ETIMEDOUT ? -EAGAIN : n;
}

/* MSG_ZEROCOPY: the bytes are copied, by us or, as its part, by the kernel; so its number, too, is
 * ours. The kernel ignores the flag without SO_ZEROCOPY. */
static SL_COLD ssize_t send_numbered(struct sl_sock *sk, int fd, const struct sl_tx_req *given)
{
	struct sl_tx_req r = *given;
	ssize_t n;

	if (sl_load(&sk->state) == SL_STATE_KERNEL)
		return send_by_kernel(sk, fd, given);
	r.flags &= ~MSG_ZEROCOPY;
	n = sl_dgram_send(sk, fd, &r);
	if (n >= 0 && sk->zerocopy)
		sl_errq_copied(sk);
	return n;
}

ssize_t sl_dgram_send(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	struct sl_lane *lane;
	ssize_t n;

	if (sl_unlikely(r->flags & MSG_ZEROCOPY))
		return send_numbered(sk, fd, r);
	n = try_once(sk, fd, r, &lane);
	if (sl_likely(!lane))
		return n;
	if (sk->nonblock || (r->flags & MSG_DONTWAIT)) {
		sk->stats->tx_eagain++;
		return lost(sk) ? (ssize_t)r->len : n;
	}
	return wait_for_room(sk, fd, r);
}

/* Calls ---------------------------------------------------------------------------------------- */

/* Sends one datagram of several. Bytes, SL_SEND_BY_OS or -errno. The caller kicks *leg_out. */
static inline ssize_t send_next(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r,
				uint64_t now, struct sl_leg **leg_out)
{
	if (sl_likely(sl_send_straight(sk, lane, r, now))) {
		*leg_out = sl_udp_sk(sk)->path.leg;
		return (ssize_t)r->len;
	}
	if (wants_kernel(sk, r) || !memory_is_there(r))
		return SL_SEND_BY_OS;
	return send_locked(sk, lane, r, now, leg_out);
}

/* Sends a run of messages with one kick for many, under one hold of the lane. Stops at the first
 * message that needs more than the fast path. */
unsigned sl_dgram_send_many(struct sl_sock *sk, struct mmsghdr *msgs, unsigned n, int flags)
{
	struct sl_leg *leg = NULL, *last = NULL;
	struct sl_lane *lane;
	unsigned done = 0, unkicked = 0;
	uint64_t now = sl_now_ns();

	if ((flags & ~SL_SEND_OUR_FLAGS) || (sl_load(&sk->os) & SL_OS_ERR) ||
	    !sl_sock_lock(sk, &lane))
		return 0;
	for (; done < n && sk->state == SL_STATE_OFFLOADED; done++) {
		struct sl_tx_req r;
		ssize_t len;

		if (sl_unlikely(sl_tx_req_of(&r, &msgs[done].msg_hdr, flags)))
			break;
		len = send_next(sk, lane, &r, now, &leg);

		if (last && leg != last)
			sl_leg_kick(last);
		last = leg;
		if (len < 0)
			break;
		msgs[done].msg_len = (unsigned)len;
		if (++unkicked == KICK_EVERY || sl_unlikely(sl_udp_sk(sk)->stamps)) {
			sl_leg_kick(leg);
			unkicked = 0;
		}
	}
	if (last && last->tx->posted)
		sl_leg_kick(last);
	if (sl_unlikely(sl_udp_sk(sk)->tx_timed))
		note_sent(sk, now, done);
	sl_lane_unlock(lane);
	return done;
}
