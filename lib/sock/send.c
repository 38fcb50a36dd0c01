/* SPDX-License-Identifier: BSD-2-Clause */
/* Send calls: bytes into frames, headers in front, one kick for a batch. What the bypass cannot
 * send (unresolved neighbour, too long, options, local destination) goes through the shadow, in
 * order: the kernel's send and our kick are both done when they return. */
#include <errno.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/block.h"
#include "sock/cmsg.h"
#include "sock/errq.h"
#include "sock/sock.h"
#include "sock/tconn.h"
#include "wire/csum.h"

/* Headers are written in the room in front: payload starts at an aligned place. */
#define TX_ROOM 128
/* Frames put on the ring before a kick, in calls that send many. */
#define KICK_EVERY 32
/* What a frame counts against the send buffer beside its payload. */
#define TX_OVERHEAD  256
#define TX_HEADERS   42  /* of a datagram that the kernel sends, about */
#define MAX_GSO_SEGS 128 /* UDP_MAX_SEGMENTS */

/* Flags that change nothing for a datagram of ours; others go to the kernel. */
#define OUR_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CONFIRM)

/* One datagram to be sent, whatever the call was. */
struct tx_req {
	const struct iovec *iov;
	size_t niov;
	size_t len;
	const struct sockaddr *name; /* NULL: to the peer */
	socklen_t namelen;
	const struct msghdr *msg; /* NULL: no control */
	int flags;
};

/* Paths ---------------------------------------------------------------------------------------- */

static uint8_t hops(const struct sl_sock *sk, const struct sl_dst *d, const struct sl_addr *dst)
{
	if (sl_addr_is_multicast(dst))
		return sk->mc_ttl;
	if (sk->ttl)
		return sk->ttl;
	return d->route.hoplimit ? d->route.hoplimit : 64;
}

static bool df(const struct sl_sock *sk)
{
	return sk->pmtudisc == IP_PMTUDISC_WANT || sk->pmtudisc == IP_PMTUDISC_DO ||
	       sk->pmtudisc == IP_PMTUDISC_PROBE;
}

/* Source address: bound, given, or what the route prefers. */
static struct sl_addr source(const struct sl_sock *sk, const struct sl_path *p,
			     const struct sl_tx_ctl *ctl)
{
	if (ctl && ctl->special && !sl_addr_is_any(&ctl->src))
		return ctl->src;
	if (sk->bound_addr && !sl_addr_is_multicast(&sk->local))
		return sk->local;
	if (sl_addr_is_multicast(&p->dst) && !sl_addr_is_any(&sk->mc_src))
		return sk->mc_src;
	return p->d->route.src;
}

static void make_headers(struct sl_sock *sk, struct sl_path *p, const struct sl_tx_ctl *ctl)
{
	const struct sl_dst *d = p->d;
	struct sl_udp_build b = {
		.vlan = d->vlan,
		.src = source(sk, p, ctl),
		.dst = p->dst,
		.sport = sk->local_port,
		.dport = p->port,
		.tos = ctl && ctl->tos >= 0 ? (uint8_t)ctl->tos : sk->tos,
		.ttl = ctl && ctl->ttl >= 0 ? (uint8_t)ctl->ttl : hops(sk, d, &p->dst),
		.df = df(sk),
	};
	bool v4 = sl_addr_is_v4(&p->dst);

	memcpy(b.smac, d->smac, 6);
	memcpy(b.dmac, d->dmac, 6);
	sl_build_udp_hdr(&p->hdr, &b);
	p->max_payload = (uint16_t)(sl_min(d->route.mtu, 65535u) - (v4 ? 28 : 48));
	/* A frame must hold it; longer ones are the kernel's. */
	p->max_payload =
		(uint16_t)sl_min((uint32_t)p->max_payload, (1u << sl_pool.shift) - TX_ROOM);
}

static bool rule_says_os(const struct sl_sock *sk, const struct sl_path *p)
{
	if (sk->udp.connected)
		return false; /* decided at connect, as udp_connect */
	return sl_port_decide(p->leg->port, SL_ROLE_UDP_SENDER, &p->dst, p->port, NULL, 0) ==
	       SL_RULE_OS;
}

/* Fills p for its dst and port; lane held. */
static void make_path(struct sl_sock *sk, struct sl_lane *lane, struct sl_path *p,
		      const struct sl_tx_ctl *ctl, uint64_t now)
{
	struct sl_route_key key = {
		.dst = p->dst,
		.oif = p->oif,
		.tos = sk->tos,
		.mark = sk->mark,
		.mc_noloop = sl_addr_is_multicast(&p->dst) && !sk->mc_loop,
	};
	struct sl_dst *d;

	if (ctl && ctl->special && !sl_addr_is_any(&ctl->src))
		key.src = ctl->src;
	else if (sk->bound_addr && !sl_addr_is_multicast(&sk->local))
		key.src = sk->local;
	else if (sl_addr_is_v4(&p->dst))
		key.src = sl_addr_v4(0);
	d = sl_lane_dst(lane, &key, now);
	p->d = d;
	p->serial = d->serial;
	p->leg = d->leg && d->mac_ok ? d->leg : NULL;
	if (p->leg && (p->leg->dead || rule_says_os(sk, p)))
		p->leg = NULL;
	if (p->leg)
		make_headers(sk, p, ctl);
	if (p->leg && sl_unlikely(sk->pacer))
		p->leg = sl_pacer_leg(sk->pacer, p->leg);
}

static uint32_t out_device(const struct sl_sock *sk, const struct sl_addr *dst, uint32_t scope)
{
	if (sk->bound_if)
		return sk->bound_if;
	if (scope && (sl_addr_is_linklocal(dst) || sl_addr_is_multicast(dst)))
		return scope;
	if (sl_addr_is_multicast(dst))
		return sk->mc_oif;
	return sk->unicast_oif;
}

/* Family, port and address of a sockaddr_in in one word. */
static uint64_t v4_name(const struct tx_req *r)
{
	uint64_t v = 0;

	if (r->namelen >= sizeof(struct sockaddr_in) && r->name->sa_family == AF_INET)
		memcpy(&v, r->name, sizeof(v));
	return v;
}

/* Is it the destination of the last datagram? */
static bool same_dst(const struct sl_path *p, const struct tx_req *r)
{
	if (!p->d)
		return false;
	return r->name ? p->v4_name && p->v4_name == v4_name(r) : p->to_peer;
}

/* Where the datagram goes: 0 and the socket's path is for it, or -errno; -EREMOTE: the kernel
 * shall judge. */
static int find_dst(struct sl_sock *sk, const struct tx_req *r, struct sl_path *p)
{
	uint32_t scope = sk->local_scope;
	struct sl_addr dst;
	uint16_t port;

	if (r->name) {
		if (sl_addr_from_sockaddr(r->name, r->namelen, &dst, &port, &scope) < 0)
			return -EREMOTE;
		if (sk->family == AF_INET && r->name->sa_family != AF_INET)
			return -EREMOTE;
	} else if (sk->udp.connected) {
		dst = sk->udp.remote;
		port = sk->udp.remote_port;
	} else {
		return -EREMOTE; /* EDESTADDRREQ */
	}
	if (port == 0 || sl_addr_is_any(&dst))
		return -EREMOTE;
	if (p->d && p->port == port && sl_addr_eq(&p->dst, &dst) &&
	    p->oif == out_device(sk, &dst, scope))
		return 0;
	p->d = NULL;
	p->dst = dst;
	p->port = port;
	p->oif = out_device(sk, &dst, scope);
	p->v4_name = r->name ? v4_name(r) : 0;
	p->to_peer = !r->name;
	return 0;
}

static bool path_fresh(const struct sl_path *p, uint64_t now)
{
	return p->d && p->d->serial == p->serial && sl_dst_fresh(p->d, now) &&
	       (!p->leg || !p->leg->dead);
}

/* Frames --------------------------------------------------------------------------------------- */

/* Gathers n bytes from offset off of the caller's buffers; returns the checksum's sum, if it is
 * wanted, else SL_CSUM_NONE. */
static uint64_t gather(uint8_t *to, const struct iovec *iov, size_t niov, size_t off, size_t n,
		       bool want)
{
	size_t done = 0;

	if (sl_likely(niov == 1)) {
		const uint8_t *from = (const uint8_t *)iov->iov_base + off;

		if (want)
			return sl_csum_copy(0, to, from, n);
		memcpy(to, from, n);
		return SL_CSUM_NONE;
	}
	for (size_t i = 0; i < niov && done < n; i++) {
		size_t part;

		if (off >= iov[i].iov_len) {
			off -= iov[i].iov_len;
			continue;
		}
		part = sl_min(iov[i].iov_len - off, n - done);
		memcpy(to + done, (const uint8_t *)iov[i].iov_base + off, part);
		done += part;
		off = 0;
	}
	return want ? sl_csum_add(0, to, n) : SL_CSUM_NONE;
}

/* Puts one datagram on the ring. False: no frame or no room. */
static bool put_one(struct sl_sock *sk, struct sl_lane *lane, const struct sl_path *p,
		    const struct tx_req *r, size_t off, size_t n)
{
	bool wants_sum = !(p->hdr.v6 ? sk->no_csum6 : sk->no_csum);
	bool by_device = p->leg->tx->caps & SL_TX_CSUM;
	struct sl_tx_desc d;
	uint8_t *payload;
	uint64_t sum;

	/* sock_alloc_send_skb(): full when the limit has been reached, so one always fits; and the
	 * segments of one call are one packet there. */
	if (sl_unlikely(sl_load(&sk->wmem) >= sk->sndbuf) && !off)
		return false;
	d.frame = sl_lane_frame(lane);
	if (sl_unlikely(d.frame == SL_NO_FRAME))
		return false;
	payload = sl_frame_ptr(d.frame) + TX_ROOM;
	sum = gather(payload, r->iov, r->niov, off, n, wants_sum && !by_device);
	sl_build_udp(&p->hdr, payload, (uint16_t)n, sk->ip_id++, sum);
	d.off = (uint16_t)(TX_ROOM - p->hdr.len);
	d.len = (uint16_t)(p->hdr.len + n);
	d.flags = wants_sum && by_device ? SL_TXD_CSUM : 0;
	d.hdr = 0;
	if (sl_unlikely(!sl_leg_post_desc(p->leg, &d))) {
		sl_frame_put(&lane->frames, d.frame);
		return false;
	}
	sl_frame_charge(d.frame, &sk->wmem, (uint32_t)n + TX_OVERHEAD);
	if (sl_unlikely(sk->stamps) && off == 0)
		sl_errq_posted(sk, p->leg, &d);
	sk->stats->tx_pkts++;
	sk->stats->tx_bytes += n;
	return true;
}

/* Ring, frames or the send buffer are used up: let the device work once. */
static bool make_room(struct sl_lane *lane, struct sl_leg *leg)
{
	int err = sl_leg_kick(leg);

	leg->tx->ops->reap(leg->tx, &lane->frames);
	return err == 0 || err == -EAGAIN;
}

/* All segments of one call (one, without UDP_SEGMENT). Returns how many bytes went; ok: all. */
static size_t put_all(struct sl_sock *sk, struct sl_lane *lane, const struct sl_path *p,
		      const struct tx_req *r, size_t seg, bool *ok)
{
	size_t off = 0;

	*ok = true;
	do {
		size_t n = sl_min(seg, r->len - off);

		if (sl_unlikely(!put_one(sk, lane, p, r, off, n)) &&
		    (!make_room(lane, p->leg) || !put_one(sk, lane, p, r, off, n))) {
			*ok = false;
			break;
		}
		off += n;
	} while (off < r->len);
	return off;
}

/* One datagram ----------------------------------------------------------------------------------
 */

#define TO_KERNEL (-EREMOTE)

/* What of the request only the kernel does. */
static bool wants_kernel(struct sl_sock *sk, const struct tx_req *r)
{
	if (sl_unlikely(sk->corked || (r->flags & ~OUR_FLAGS) || sk->tx_shut)) {
		/* A corked datagram is finished by the first send without MSG_MORE. */
		sk->corked = r->flags & MSG_MORE;
		return true;
	}
	return r->len > 65507 || sk->state != SL_STATE_OFFLOADED;
}

/* The last error that came back for the shadow (ICMP) is told by the next call, once. */
static int pending_error(struct sl_sock *sk, int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	sl_sock_take_error(sk);
	sl_sys_getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return -err;
}

/* No room: EPOLLOUT goes away until completions make some. */
static void block(struct sl_sock *sk, struct sl_lane *lane)
{
	if (sk->tx_blocked)
		return;
	sl_store(&sk->tx_blocked, true);
	if (sk->pacer)
		sl_pacer_block(sk->pacer, &sk->blocked);
	else
		sl_list_add_tail(&lane->blocked, &sk->blocked);
}

void sl_sock_on_room(struct sl_list *entry)
{
	struct sl_sock *sk = sl_container_of(entry, struct sl_sock, blocked);

	if (sl_load(&sk->wmem) >= sk->sndbuf / 2) /* sock_writeable() */
		return;
	sl_list_del(&sk->blocked);
	sl_store(&sk->tx_blocked, false);
	sl_sock_notify(sk, EPOLLOUT | EPOLLWRNORM);
}

/* By the path p, as ctl says. */
static ssize_t send_by(struct sl_sock *sk, struct sl_lane *lane, const struct tx_req *r,
		       uint64_t now, struct sl_path *p, const struct sl_tx_ctl *ctl,
		       struct sl_leg **leg_out)
{
	size_t seg, sent;
	bool ok;
	int err;

	if (!same_dst(p, r)) {
		err = find_dst(sk, r, p);
		if (sl_unlikely(err < 0))
			return err;
	}
	if (sl_unlikely(ctl->special && ctl->oif))
		p->oif = ctl->oif;
	if (sl_unlikely(!path_fresh(p, now)))
		make_path(sk, lane, p, ctl, now);
	seg = ctl->gso ? ctl->gso : sk->gso_size;
	if (sl_likely(!seg || seg > r->len))
		seg = r->len;
	if (sl_unlikely(!p->leg || seg > p->max_payload ||
			(seg && (r->len + seg - 1) / seg > MAX_GSO_SEGS)))
		return TO_KERNEL;
	if (sl_unlikely(sk->stamps & SOF_TIMESTAMPING_TX_HARDWARE) && sl_errq_is_os(p->leg))
		return TO_KERNEL;
	*leg_out = p->leg;
	sent = put_all(sk, lane, p, r, seg, &ok);
	if (sl_unlikely(!ok && sent == 0)) {
		block(sk, lane);
		return p->leg->dead ? TO_KERNEL : -EAGAIN;
	}
	if (sl_unlikely(!ok)) /* the rest of the segments is dropped, as a full device queue does */
		sk->stats->tx_errors++;
	return (ssize_t)r->len;
}

/* The message's control data say how. Stamps that it asks for are its own. */
static SL_COLD ssize_t send_controlled(struct sl_sock *sk, struct sl_lane *lane,
				       const struct tx_req *r, uint64_t now,
				       struct sl_leg **leg_out)
{
	struct sl_tx_ctl ctl = {.tos = -1, .ttl = -1};
	struct sl_path special, *p = &sk->path;
	uint32_t stamps = sk->stamps;
	ssize_t n;

	if (!sl_cmsg_get(sk, r->msg, &ctl))
		return TO_KERNEL;
	if (ctl.special) {
		if (!sl_addr_is_any(&ctl.src) && !sl_addr_is_local(&ctl.src))
			return TO_KERNEL; /* which refuses it, or has IP_TRANSPARENT */
		special.d = NULL;
		p = &special;
	}
	if (ctl.asks && !sl_errq_make(sk))
		return TO_KERNEL;
	if (ctl.asks)
		sk->stamps = ctl.stamps;
	n = send_by(sk, lane, r, now, p, &ctl, leg_out);
	sk->stamps = stamps;
	return n;
}

/* Lane held. Bytes, TO_KERNEL, or -errno. leg_out: to be kicked. */
static ssize_t send_locked(struct sl_sock *sk, struct sl_lane *lane, const struct tx_req *r,
			   uint64_t now, struct sl_leg **leg_out)
{
	static const struct sl_tx_ctl none = {.tos = -1, .ttl = -1};

	/* Another thread closed it or handed it back before we had the lane. */
	if (sl_unlikely(lane == &sl_limbo || sk->state != SL_STATE_OFFLOADED))
		return TO_KERNEL;
	if (sl_unlikely(r->msg && r->msg->msg_controllen))
		return send_controlled(sk, lane, r, now, leg_out);
	return send_by(sk, lane, r, now, &sk->path, &none, leg_out);
}

static ssize_t send_kernel(struct sl_sock *sk, int fd, const struct tx_req *r)
{
	struct msghdr m = {
		.msg_name = (void *)r->name,
		.msg_namelen = r->namelen,
		.msg_iov = (struct iovec *)r->iov,
		.msg_iovlen = r->niov,
	};
	ssize_t n = sl_sys_cancel(SYS_sendmsg, fd, r->msg ? r->msg : &m, r->flags);

	if (n >= 0 && sl_unlikely(sk->errq != NULL))
		sl_errq_sent_by_os(sk, r->msg);
	if (n >= 0) {
		sk->stats->tx_os_pkts++;
		sk->stats->tx_os_bytes += (uint64_t)n;
	} else if (n == -EAGAIN) {
		sk->stats->tx_eagain++;
	} else {
		sk->stats->tx_errors++;
	}
	return n;
}

/* A fresh socket gets its port now, as the kernel would do it. */
static void first_send(struct sl_sock *sk)
{
	sl_sock_part(sk);
	if (sk->state == SL_STATE_NEW && sk->local_port == 0)
		sl_sock_autobind(sk);
}

/* The device cannot keep up: unless the program wants to know, the datagram is lost as in a full
 * queue of the kernel's. A full send buffer is told in any case, as the kernel tells it. */
static bool lost(const struct sl_sock *sk)
{
	return !sl_settings.tx_nonblocked_eagains && sl_load(&sk->wmem) < sk->sndbuf &&
	       !sl_load(&sk->pacer);
}

/* What goes through the kernel is not to overtake what waits for its time, nor to be faster. */
static bool has_to_wait(struct sl_sock *sk, struct sl_lane *lane, const struct tx_req *r)
{
	if (sl_likely(lane == &sl_limbo || !sk->pacer) ||
	    sl_pacer_pass(sk->pacer, lane, (uint32_t)r->len + TX_HEADERS))
		return false;
	block(sk, lane);
	return true;
}

/* One try: bytes or -errno. *lane_out: to be turned, when it was us who had no room; else NULL. */
static inline __attribute__((always_inline)) ssize_t
try_send(struct sl_sock *sk, int fd, const struct tx_req *r, struct sl_lane **lane_out)
{
	struct sl_leg *leg = NULL;
	struct sl_lane *lane;
	ssize_t n;

	*lane_out = NULL;
	if (sl_unlikely(sk->state != SL_STATE_OFFLOADED))
		first_send(sk);
	if (sl_unlikely(sl_load(&sk->os) & SL_OS_ERR)) {
		int err = pending_error(sk, fd);

		if (err)
			return err;
	}
	if (sl_unlikely(wants_kernel(sk, r)) || !sl_sock_lock(sk, &lane))
		return send_kernel(sk, fd, r);
	n = send_locked(sk, lane, r, sl_now_ns(), &leg);
	if (sl_likely(leg != NULL) && sl_leg_kick(leg) == -ENODEV)
		n = TO_KERNEL;
	if (sl_unlikely(n == TO_KERNEL) && has_to_wait(sk, lane, r))
		n = -EAGAIN;
	sl_lane_unlock(lane);
	if (sl_unlikely(n == -EAGAIN))
		*lane_out = lane;
	return n == TO_KERNEL ? send_kernel(sk, fd, r) : n;
}

struct paced_send {
	struct sl_sock *sk;
	int fd;
	const struct tx_req *r;
};

static ssize_t try_paced(void *arg)
{
	const struct paced_send *x = arg;
	struct sl_lane *lane;
	ssize_t n = try_send(x->sk, x->fd, x->r, &lane);

	if (lane)
		sl_lane_turn(lane);
	return n;
}

/* A paced socket's buffer is full for long. */
static ssize_t wait_paced(struct sl_sock *sk, int fd, const struct tx_req *r)
{
	struct paced_send x = {sk, fd, r};
	uint64_t deadline = sk->sndtimeo_ns ? sl_now_ns() + sk->sndtimeo_ns : 0;
	ssize_t n = sl_sock_block_send(sk, fd, deadline, try_paced, &x);

	return n == -ETIMEDOUT ? -EAGAIN : n;
}

static ssize_t send_one(struct sl_sock *sk, int fd, const struct tx_req *r)
{
	struct sl_lane *lane;
	ssize_t n;

	if (sk->proto == IPPROTO_TCP) {
		struct msghdr m = {
			.msg_name = (void *)r->name,
			.msg_namelen = r->namelen,
			.msg_iov = (struct iovec *)r->iov,
			.msg_iovlen = r->niov,
		};

		return sl_tcp_sock_send(sk, fd, r->iov, r->niov, r->len, r->flags,
					r->flags & MSG_FASTOPEN && !r->msg ? &m : r->msg);
	}
	for (unsigned tries = 0;; tries++) {
		n = try_send(sk, fd, r, &lane);
		if (sl_likely(!lane))
			return n;
		if (sk->nonblock || (r->flags & MSG_DONTWAIT)) {
			sk->stats->tx_eagain++;
			return lost(sk) ? (ssize_t)r->len : n;
		}
		if (sl_load(&sk->pacer))
			return wait_paced(sk, fd, r);
		if (tries > 1000)
			return send_kernel(sk, fd, r); /* the device stands still */
		sl_lane_turn(lane);
		sl_sys(SYS_sched_yield);
	}
}

/* Calls ---------------------------------------------------------------------------------------- */

SL_API
ssize_t sl_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		  socklen_t addrlen)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct iovec iov = {(void *)buf, len};
	struct tx_req r = {&iov, 1, len, addr, addrlen, NULL, flags};

	return sk ? send_one(sk, fd, &r) : sl_sys_sendto(fd, buf, len, flags, addr, addrlen);
}

SL_API
ssize_t sl_send(int fd, const void *buf, size_t len, int flags)
{
	return sl_sendto(fd, buf, len, flags, NULL, 0);
}

static struct tx_req from_msg(const struct msghdr *m, int flags)
{
	return (struct tx_req){
		.iov = m->msg_iov,
		.niov = m->msg_iovlen,
		.len = sl_iov_len(m->msg_iov, m->msg_iovlen),
		.name = m->msg_namelen ? m->msg_name : NULL,
		.namelen = m->msg_namelen,
		.msg = m,
		.flags = flags,
	};
}

SL_API
ssize_t sl_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct tx_req r;

	if (!sk)
		return sl_sys_sendmsg(fd, msg, flags);
	r = from_msg(msg, flags);
	return send_one(sk, fd, &r);
}

SL_API
ssize_t sl_writev(int fd, const struct iovec *iov, int n)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct tx_req r = {.iov = iov, .niov = (size_t)n};

	if (!sk || n < 0 || n > 1024)
		return sl_sys(SYS_writev, fd, iov, n);
	r.len = sl_iov_len(iov, r.niov);
	if (r.len == 0)
		return 0; /* as fs/read_write.c; write(2) of nothing sends an empty datagram */
	return send_one(sk, fd, &r);
}

/* A run of messages with one kick for many; lane held once. Stops at the first that needs more
 * than the fast path. */
static unsigned send_run(struct sl_sock *sk, struct mmsghdr *msgs, unsigned n, int flags)
{
	struct sl_leg *leg = NULL, *last = NULL;
	struct sl_lane *lane;
	unsigned done = 0, unkicked = 0;
	uint64_t now = sl_now_ns();

	if (sk->state != SL_STATE_OFFLOADED || (sl_load(&sk->os) & SL_OS_ERR) ||
	    !sl_sock_lock(sk, &lane))
		return 0;
	for (; done < n; done++) {
		struct tx_req r = from_msg(&msgs[done].msg_hdr, flags);
		ssize_t len;

		if (wants_kernel(sk, &r))
			break;
		len = send_locked(sk, lane, &r, now, &leg);
		if (last && leg != last)
			sl_leg_kick(last);
		last = leg;
		if (len < 0)
			break;
		msgs[done].msg_len = (unsigned)len;
		if (++unkicked == KICK_EVERY || sl_unlikely(sk->stamps)) {
			sl_leg_kick(leg);
			unkicked = 0;
		}
	}
	if (last && last->tx->posted)
		sl_leg_kick(last);
	sl_lane_unlock(lane);
	return done;
}

SL_API
int sl_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	unsigned done = 0;

	if (!sk)
		return (int)sl_sys(SYS_sendmmsg, fd, msgs, n, flags);
	n = sl_min(n, 1024u); /* UIO_MAXIOV */
	while (done < n) {
		struct tx_req r;
		ssize_t len;

		if (sk->proto == IPPROTO_UDP)
			done += send_run(sk, msgs + done, n - done, flags);
		if (done == n)
			break;
		r = from_msg(&msgs[done].msg_hdr, flags);
		len = send_one(sk, fd, &r);
		if (len < 0)
			return done ? (int)done : (int)len;
		msgs[done++].msg_len = (unsigned)len;
	}
	return (int)done;
}
