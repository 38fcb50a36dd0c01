/* SPDX-License-Identifier: BSD-2-Clause */
/* Ancillary data of datagrams, in and out (ip(7), ipv6(7), udp(7), socket(7); RFC 3542). */
#include "sock/core/cmsg.h"

#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <time.h> /* for errqueue.h */

#include <linux/errqueue.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/sys.h"
#include "sock/core/errq.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "steer.h"
#include "stack/hwclock.h"

struct v4_walk {
	uint32_t ifindex, addr;
};

static bool first_v4(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	struct v4_walk *w = arg;

	if (ifindex != w->ifindex || !sl_addr_is_v4(addr))
		return true;
	w->addr = addr->w[3];
	return false;
}

/* An IPv4 address of the device, network order; 0: none. */
static uint32_t local_v4_of(uint32_t ifindex)
{
	struct v4_walk w = {.ifindex = ifindex};

	sl_local_for_each(first_v4, &w);
	return w.addr;
}

struct out {
	uint8_t *p;
	size_t left;
	bool trunc;
};

/* Like put_cmsg() of the kernel: cuts a message that does not fit, and sets MSG_CTRUNC. */
static void put(struct out *o, int level, int type, const void *data, size_t len)
{
	struct cmsghdr h = {.cmsg_level = level, .cmsg_type = type};
	size_t want = CMSG_LEN(len), space = CMSG_SPACE(len);

	if (o->left < sizeof(h)) {
		o->trunc = true;
		return;
	}
	if (o->left < want) {
		o->trunc = true;
		want = o->left;
	}
	h.cmsg_len = want;
	/* (A bad place is not reported: put_cmsg() leaves the message out.) */
	if (sl_guard_copy(o->p, &h, sizeof(h)) ||
	    sl_guard_copy(o->p + CMSG_LEN(0), data, want - CMSG_LEN(0)))
		return;
	space = sl_min(space, o->left);
	o->p += space;
	o->left -= space;
}

struct stamps { /* struct scm_timestamping64 */
	int64_t sec, nsec;
};

static struct stamps stamp_of(uint64_t ns)
{
	return (struct stamps){(int64_t)(ns / 1000000000), (int64_t)(ns % 1000000000)};
}

/* SO_TIMESTAMP and SO_TIMESTAMPNS. On 64-bit machines the old and the new forms are alike but for
 * their numbers. */
static void put_time(const struct sl_sock *sk, const struct stamps *ts, struct out *o)
{
	bool new = sk->want &SL_WANT_NEW_STAMP;

	if (sk->want & SL_WANT_STAMP_NS) {
		put(o, SOL_SOCKET, new ? SO_TIMESTAMPNS_NEW : SO_TIMESTAMPNS_OLD, ts, sizeof(*ts));
	} else if (sk->want & SL_WANT_STAMP_US) {
		struct stamps tv = {ts->sec, ts->nsec / 1000};

		put(o, SOL_SOCKET, new ? SO_TIMESTAMP_NEW : SO_TIMESTAMP_OLD, &tv, sizeof(tv));
	}
}

/* Like __sock_recv_timestamp(): only SO_TIMESTAMPING reports the hardware's stamp (hw_ns; 0: there
 * is none), and there is no message without any stamp. */
static void put_stamp(const struct sl_sock *sk, uint64_t mono_ns, uint64_t hw_ns, struct out *o)
{
	bool new = sk->want &SL_WANT_NEW_STAMP;
	struct stamps ts = stamp_of(sl_mono_to_real_ns(mono_ns));

	put_time(sk, &ts, o);
	if (!(sk->want & SL_WANT_HW_STAMP))
		hw_ns = 0;
	if (sk->want & SL_WANT_STAMPING || hw_ns) {
		struct stamps three[3] = {{0, 0}, {0, 0}, {0, 0}};

		if (sk->want & SL_WANT_STAMPING)
			three[0] = ts;
		three[2] = stamp_of(hw_ns);
		put(o, SOL_SOCKET, new ? SO_TIMESTAMPING_NEW : SO_TIMESTAMPING_OLD, three,
		    sizeof(three));
	}
}

/* __sock_recv_timestamp() of what is in an error queue. */
static void put_sent_stamp(const struct sl_sock *sk, const struct sl_sent *s, struct out *o)
{
	bool new = sk->want &SL_WANT_NEW_STAMP;
	struct stamps three[3] = {{0, 0}, {0, 0}, {0, 0}};
	struct stamps ts = stamp_of(sl_mono_to_real_ns(s->mono_ns ? s->mono_ns : sl_now_ns()));

	put_time(sk, &ts, o);
	if (s->mono_ns && sl_errq_flags(sk) & SOF_TIMESTAMPING_SOFTWARE)
		three[0] = ts;
	if (s->hw_ns && sl_errq_flags(sk) & SOF_TIMESTAMPING_RAW_HARDWARE)
		three[2] = stamp_of(s->hw_ns);
	if (three[0].sec || three[2].sec || three[2].nsec)
		put(o, SOL_SOCKET, new ? SO_TIMESTAMPING_NEW : SO_TIMESTAMPING_OLD, three,
		    sizeof(three));
}

/* sent: a packet of ours that is looped back. */
static void put_v4(const struct sl_sock *sk, const struct sl_dgram *d, bool sent, struct out *o)
{
	struct sl_addr src, dst;
	uint16_t sport;
	int v;

	sl_dgram_addrs(d, &src, &sport, &dst);
	if (sk->want & SL_WANT_PKTINFO) {
		struct in_pktinfo pi = {.ipi_ifindex = (int)d->ifindex};

		pi.ipi_addr.s_addr = dst.w[3];
		/* The local address that the packet was for: of multicast, the device's own, which
		 * the kernel takes from the route; the destination is what programs look at. */
		if (sl_unlikely(sent))
			pi.ipi_spec_dst.s_addr = src.w[3];
		else if (sl_addr_is_multicast(&dst))
			pi.ipi_spec_dst.s_addr = local_v4_of(d->ifindex);
		else
			pi.ipi_spec_dst.s_addr = dst.w[3];
		put(o, IPPROTO_IP, IP_PKTINFO, &pi, sizeof(pi));
	}
	if (sk->want & SL_WANT_TTL) {
		v = d->ttl;
		put(o, IPPROTO_IP, IP_TTL, &v, sizeof(v));
	}
	if (sk->want & SL_WANT_TOS)
		put(o, IPPROTO_IP, IP_TOS, &d->tos, 1);
	if (sk->want & SL_WANT_ORIGDST) {
		struct sockaddr_in in = {.sin_family = AF_INET};
		const uint8_t *l4 = sl_frame_ptr(d->frame) + d->off + d->l4;

		in.sin_addr.s_addr = dst.w[3];
		memcpy(&in.sin_port, l4 + 2, 2);
		put(o, IPPROTO_IP, IP_RECVORIGDSTADDR, &in, sizeof(in));
	}
}

static void put_v6(const struct sl_sock *sk, const struct sl_dgram *d, struct out *o)
{
	struct sl_addr src, dst;
	uint16_t sport;
	int v;

	sl_dgram_addrs(d, &src, &sport, &dst);
	if (sk->want & SL_WANT_PKTINFO6) {
		struct in6_pktinfo pi = {.ipi6_ifindex = d->ifindex, .ipi6_addr = dst.in6};

		put(o, IPPROTO_IPV6, IPV6_PKTINFO, &pi, sizeof(pi));
	}
	if (!d->v6)
		return;
	if (sk->want & SL_WANT_HOPLIMIT) {
		v = d->ttl;
		put(o, IPPROTO_IPV6, IPV6_HOPLIMIT, &v, sizeof(v));
	}
	if (sk->want & SL_WANT_TCLASS) {
		v = d->tos;
		put(o, IPPROTO_IPV6, IPV6_TCLASS, &v, sizeof(v));
	}
}

void sl_cmsg_put(const struct sl_sock *sk, const struct sl_dgram *d, size_t gso, struct msghdr *msg)
{
	struct out o = {msg->msg_control, msg->msg_control ? msg->msg_controllen : 0, false};

	if (sl_likely(!sk->want)) {
		msg->msg_controllen = 0;
		return;
	}
	if (sk->want & SL_WANT_ANY_STAMP)
		put_stamp(sk, d->stamp ? d->stamp_ns : sl_now_ns(),
			  d->stamp & SL_META_HW && sk->want & SL_WANT_HW_STAMP
				  ? sl_hw_time(d->ifindex, sl_hw_stamp(d->frame, d->off))
				  : 0,
			  &o);
	if ((sk->want & SL_WANT_OVFL) && sl_udp_sk_const(sk)->udp.drops)
		put(&o, SOL_SOCKET, SO_RXQ_OVFL, &sl_udp_sk_const(sk)->udp.drops, 4);
	if (gso) {
		int v = (int)gso;

		put(&o, SOL_UDP, UDP_GRO, &v, sizeof(v));
	}
	if (sk->family == AF_INET6)
		put_v6(sk, d, &o);
	if (!d->v6)
		put_v4(sk, d, false, &o);
	msg->msg_controllen = msg->msg_control ? (size_t)(o.p - (uint8_t *)msg->msg_control) : 0;
	if (o.trunc)
		msg->msg_flags |= MSG_CTRUNC;
}

void sl_cmsg_put_stream(const struct sl_sock *sk, uint64_t stamp_ns, uint64_t hw_ns, const int *inq,
			struct msghdr *msg)
{
	struct out o = {msg->msg_control, msg->msg_control ? msg->msg_controllen : 0, false};

	if (stamp_ns && sk->want & SL_WANT_ANY_STAMP)
		put_stamp(sk, stamp_ns, hw_ns, &o);
	if (inq)
		put(&o, IPPROTO_TCP, TCP_CM_INQ, inq, sizeof(*inq));
	msg->msg_controllen = msg->msg_control ? (size_t)(o.p - (uint8_t *)msg->msg_control) : 0;
	if (o.trunc)
		msg->msg_flags |= MSG_CTRUNC;
}

/* The looped packet as a datagram that was received: where its headers are. */
static bool as_dgram(const struct sl_sent *s, struct sl_dgram *d)
{
	const uint8_t *p = s->ifindex ? sl_frame_ptr(s->frame) + s->off : NULL;
	uint16_t l3 = 12, type;

	if (!p)
		return false;
	while ((type = sl_get_be16(p + l3)) == ETH_P_8021Q || type == ETH_P_8021AD)
		l3 += 4;
	l3 += 2;
	*d = (struct sl_dgram){.frame = s->frame, .off = s->off, .l3 = l3, .ifindex = s->ifindex};
	d->v6 = type == ETH_P_IPV6;
	d->l4 = (uint16_t)(l3 + (d->v6 ? 40 : 20));
	d->tos = d->v6 ? (uint8_t)(sl_get_be16(p + l3) >> 4) : p[l3 + 1];
	d->ttl = p[l3 + (d->v6 ? 7 : 8)];
	return true;
}

void sl_cmsg_put_sent(const struct sl_sock *sk, const struct sl_sent *s, struct msghdr *msg)
{
	struct out o = {msg->msg_control, msg->msg_control ? msg->msg_controllen : 0, false};
	bool v6 = sk->family == AF_INET6;
	struct {
		struct sock_extended_err ee;
		union {
			struct sockaddr_in in;
			struct sockaddr_in6 in6;
		} offender;
	} e = {.ee = {.ee_errno = ENOMSG,
		      .ee_origin = SO_EE_ORIGIN_TIMESTAMPING,
		      .ee_info = s->type,
		      .ee_data = s->id}};
	socklen_t len = v6 ? sizeof(e.offender.in6) : sizeof(e.offender.in);
	struct sl_addr src;
	struct sl_dgram d;
	uint16_t port;

	put_sent_stamp(sk, s, &o);
	/* The kernel always describes an IPv6 packet, but an IPv4 packet only with OPT_CMSG. */
	if ((v6 || sl_errq_flags(sk) & SOF_TIMESTAMPING_OPT_CMSG) && as_dgram(s, &d)) {
		sl_dgram_addrs(&d, &src, &port, NULL);
		sl_addr_to_sockaddr(&src, 0, s->ifindex, sk->family, (void *)&e.offender, &len);
		if (v6)
			put_v6(sk, &d, &o);
		if (!d.v6)
			put_v4(sk, &d, true, &o);
	}
	put(&o, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &e,
	    sizeof(e.ee) + (v6 ? sizeof(e.offender.in6) : sizeof(e.offender.in)));
	msg->msg_controllen = msg->msg_control ? (size_t)(o.p - (uint8_t *)msg->msg_control) : 0;
	if (o.trunc)
		msg->msg_flags |= MSG_CTRUNC;
}

/* Writes an address of an IP header, which lies in the frame, as a name. */
static void put_name(const struct sl_sock *sk, const struct sl_sent *s, uint32_t header, bool dst,
		     uint16_t port, struct sockaddr *name, socklen_t *len)
{
	struct sl_pkt p = {.data = sl_frame_ptr(s->frame), .l3 = (uint16_t)header};
	struct sl_addr a;

	p.v6 = s->icmp.v6;
	if (dst)
		sl_pkt_daddr(&p, &a);
	else
		sl_pkt_saddr(&p, &a);
	sl_addr_to_sockaddr(&a, port, s->ifindex, sk->family, name, len);
}

void sl_cmsg_put_icmp(const struct sl_sock *sk, const struct sl_sent *s, struct msghdr *msg)
{
	struct out o = {msg->msg_control, msg->msg_control ? msg->msg_controllen : 0, false};
	struct stamps ts = stamp_of(sl_mono_to_real_ns(s->mono_ns));
	bool v6 = sk->family == AF_INET6;
	struct {
		struct sock_extended_err ee;
		struct sockaddr_in6 offender;
	} e = {.ee = {.ee_errno = s->icmp.err,
		      .ee_origin = s->icmp.v6 ? SO_EE_ORIGIN_ICMP6 : SO_EE_ORIGIN_ICMP,
		      .ee_type = s->icmp.type,
		      .ee_code = s->icmp.code,
		      .ee_info = s->icmp.info}};
	socklen_t len = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (msg->msg_name)
		put_name(sk, s, s->flags, true, sl_get_be16(sl_frame_ptr(s->frame) + s->off + 2),
			 msg->msg_name, &msg->msg_namelen);
	put_time(sk, &ts, &o);
	put_name(sk, s, s->id, false, 0, (struct sockaddr *)&e.offender, &len);
	put(&o, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &e,
	    sizeof(e.ee) + len);
	msg->msg_controllen = msg->msg_control ? (size_t)(o.p - (uint8_t *)msg->msg_control) : 0;
	if (o.trunc)
		msg->msg_flags |= MSG_CTRUNC;
}

void sl_cmsg_put_one(struct msghdr *msg, int level, int type, const void *data, size_t len)
{
	struct out o = {msg->msg_control, msg->msg_control ? msg->msg_controllen : 0, false};

	put(&o, level, type, data, len);
	msg->msg_controllen = msg->msg_control ? (size_t)(o.p - (uint8_t *)msg->msg_control) : 0;
	if (o.trunc)
		msg->msg_flags |= MSG_CTRUNC;
}

/* Out ------------------------------------------------------------------------------------------ */

static bool get_ip(const struct cmsghdr *c, size_t len, struct sl_tx_ctl *ctl)
{
	const uint8_t *data = CMSG_DATA(c);
	struct in_pktinfo pi;
	int v = 0;

	switch (c->cmsg_type) {
	case IP_PKTINFO:
		if (len < sizeof(pi))
			return false;
		memcpy(&pi, data, sizeof(pi));
		ctl->src = sl_addr_v4(pi.ipi_spec_dst.s_addr);
		ctl->oif = (uint32_t)pi.ipi_ifindex;
		return true;
	case IP_TTL:
	case IP_TOS:
		if (len == sizeof(int))
			memcpy(&v, data, sizeof(v));
		else if (len == 1 && c->cmsg_type == IP_TOS)
			v = data[0];
		else
			return false;
		if (v < 0 || v > 255 || (c->cmsg_type == IP_TTL && v == 0))
			return false;
		if (c->cmsg_type == IP_TTL) {
			ctl->ttl = (int16_t)v;
			return true;
		}
		ctl->tos = (int16_t)v;
		ctl->prio = sl_tos_prio((uint8_t)v);
		ctl->has_prio = true;
		return true;
	}
	return false;
}

/* Linux 6.14 has both, so an option tells whether sendmsg() takes a priority (EINVAL before). */
static bool kernel_takes_priority(const struct sl_sock *sk)
{
	static uint8_t known; /* 0: not asked, 1: no, 2: yes; atomic */
	int v;

	if (!sl_load(&known))
		sl_store(&known,
			 sl_sys_get_int(sk->fd, SOL_SOCKET, SO_RCVPRIORITY, &v) < 0 ? 1 : 2);
	return sl_load(&known) == 2;
}

/* Priorities above 6 need a capability (sk_set_prio_allowed()): the kernel judges and sends. */
static bool get_priority(const struct sl_sock *sk, const struct cmsghdr *c, size_t len,
			 struct sl_tx_ctl *ctl)
{
	uint32_t prio;

	if (c->cmsg_type != SO_PRIORITY || len != sizeof(prio))
		return false;
	memcpy(&prio, CMSG_DATA(c), sizeof(prio));
	if (prio > 6 || !kernel_takes_priority(sk))
		return false;
	ctl->prio = (uint8_t)prio;
	ctl->has_prio = true;
	return true;
}

/* Reads which transmit stamps this message asks for. Leaves a message with a number of the
 * program's own to the kernel. */
static bool get_socket(const struct cmsghdr *c, size_t len, struct sl_tx_ctl *ctl)
{
	if ((c->cmsg_type != SO_TIMESTAMPING_OLD && c->cmsg_type != SO_TIMESTAMPING_NEW) ||
	    len != sizeof(ctl->stamps))
		return false;
	memcpy(&ctl->stamps, CMSG_DATA(c), sizeof(ctl->stamps));
	ctl->asks = true;
	return !(ctl->stamps & ~(uint32_t)SL_TS_RECORD);
}

static bool get_ipv6(const struct cmsghdr *c, size_t len, struct sl_tx_ctl *ctl)
{
	const uint8_t *data = CMSG_DATA(c);
	struct in6_pktinfo pi;
	int v;

	switch (c->cmsg_type) {
	case IPV6_PKTINFO:
		if (len < sizeof(pi))
			return false;
		memcpy(&pi, data, sizeof(pi));
		ctl->src = sl_addr_v6(&pi.ipi6_addr);
		ctl->oif = pi.ipi6_ifindex;
		return true;
	case IPV6_HOPLIMIT:
	case IPV6_TCLASS:
		if (len != sizeof(int))
			return false;
		memcpy(&v, data, sizeof(v));
		if (v < -1 || v > 255)
			return false;
		*(c->cmsg_type == IPV6_TCLASS ? &ctl->tos : &ctl->ttl) = (int16_t)v;
		return true;
	}
	return false;
}

bool sl_cmsg_get(const struct sl_sock *sk, const struct msghdr *msg, struct sl_tx_ctl *ctl)
{
	for (struct cmsghdr *c = sl_cmsg_first(msg); c; c = sl_cmsg_next(msg, c)) {
		size_t len;

		if (!sl_cmsg_fits(msg, c))
			return false;
		len = c->cmsg_len - CMSG_LEN(0);
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_SEGMENT && len == 2) {
			memcpy(&ctl->gso, CMSG_DATA(c), 2);
			ctl->has_gso = true;
			continue;
		}
		if (c->cmsg_level == SOL_SOCKET && get_socket(c, len, ctl))
			continue;
		if (!(c->cmsg_level == SOL_SOCKET && get_priority(sk, c, len, ctl)) &&
		    !(c->cmsg_level == IPPROTO_IP && sk->family == AF_INET &&
		      get_ip(c, len, ctl)) &&
		    !(c->cmsg_level == IPPROTO_IPV6 && sk->family == AF_INET6 &&
		      get_ipv6(c, len, ctl)))
			return false;
		ctl->special = true;
	}
	return true;
}
