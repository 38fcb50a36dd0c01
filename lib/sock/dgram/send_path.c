/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a datagram goes: device, next hop and headers, kept with the socket for the next one. */
#include "base/guard.h"
#include "net/ipconf.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/send.h"
#include "stack/paces.h"
#include "stack/port.h"
#include "sock/core/udp_sock.h"

static uint8_t hops(const struct sl_sock *sk, const struct sl_dst *d, const struct sl_addr *dst)
{
	uint8_t set = sl_sock_ttl(sk, dst);

	if (sl_addr_is_multicast(dst))
		return sl_udp_sk_const(sk)->mc_ttl;
	return set ? set : d->route.hoplimit;
}

SL_APART uint64_t sl_send_v4_name(const struct sl_tx_req *r)
{
	const size_t least = sizeof(struct sockaddr_in), most = sizeof(struct sockaddr_storage);
	uint64_t v = 0;

	if (r->namelen - least <= most - least && r->name->sa_family == AF_INET)
		memcpy(&v, r->name, sizeof(v));
	return v;
}
SL_GUARDED(sl_send_v4_name, 0);

/* The kernel looks at the name before it looks at the pieces. */
static SL_COLD int refused(const struct msghdr *m, ssize_t err)
{
	size_t len = sl_min((size_t)m->msg_namelen, sizeof(struct sockaddr_storage));

	return m->msg_name && sl_guard_touch(m->msg_name, len) ? -EFAULT : (int)err;
}

SL_APART int sl_tx_req_of(struct sl_tx_req *r, const struct msghdr *m, int flags)
{
	ssize_t len;

	if (sl_unlikely(m->msg_name && (int)m->msg_namelen < 0))
		return -EINVAL; /* copy_msghdr_from_user() */
	len = sl_likely(m->msg_iovlen <= SL_IOV_MAX) ? sl_iov_bytes(m->msg_iov, m->msg_iovlen)
						     : -EMSGSIZE;
	if (sl_unlikely(len < 0))
		return refused(m, len);
	*r = (struct sl_tx_req){
		.iov = m->msg_iov,
		.niov = m->msg_iovlen,
		.len = (size_t)len,
		.name = m->msg_namelen ? m->msg_name : NULL,
		.namelen = m->msg_namelen,
		.msg = m,
		.flags = flags,
	};
	return 0;
}
SL_GUARDED(sl_tx_req_of, (uint64_t)-EFAULT);

/* __ip_make_skb() */
static bool df(const struct sl_sock *sk)
{
	return sl_sock_dont_fragment(sk) || sk->pmtudisc == IP_PMTUDISC_PROBE;
}

/* The source address: the given one, the bound one, or the one that the route prefers. */
static struct sl_addr source(const struct sl_sock *sk, const struct sl_path *p,
			     const struct sl_tx_ctl *ctl)
{
	if (ctl && ctl->special && !sl_addr_is_any(&ctl->src))
		return ctl->src;
	if (sk->bound_addr && !sl_addr_is_multicast(&sk->local))
		return sk->local;
	if (sl_addr_is_multicast(&p->dst) && !sl_addr_is_any(&sl_udp_sk_const(sk)->mc_src))
		return sl_udp_sk_const(sk)->mc_src;
	return p->d->route.src;
}

static uint32_t prio_of(const struct sl_sock *sk, const struct sl_tx_ctl *ctl)
{
	return ctl && ctl->has_prio ? ctl->prio : sk->prio;
}

static void make_headers(struct sl_sock *sk, struct sl_path *p, const struct sl_tx_ctl *ctl)
{
	const struct sl_dst *d = p->d;
	struct sl_udp_build b = {
		.vlan = d->vlan,
		.pcp = sl_port_pcp(p->leg->port, prio_of(sk, ctl)),
		.src = source(sk, p, ctl),
		.dst = p->dst,
		.sport = sk->local_port,
		.dport = p->port,
		.tos = ctl && ctl->tos >= 0 ? (uint8_t)ctl->tos : sl_sock_tos(sk, &p->dst),
		.ttl = ctl && ctl->ttl >= 0 ? (uint8_t)ctl->ttl : hops(sk, d, &p->dst),
		.df = df(sk),
	};
	bool v4 = sl_addr_is_v4(&p->dst);
	uint32_t path, frame = 1u << sl_pool.shift;

	b.flowlabel = sl_ip_flow_label(IPPROTO_UDP, &b.src, &b.dst, b.sport, b.dport);
	memcpy(b.smac, d->smac, 6);
	memcpy(b.dmac, d->dmac, 6);
	sl_build_udp_hdr(&p->hdr, &b);
	path = sl_min(d->route.mtu, 65535u) - (v4 ? 28 : 48);
	p->max_payload = (uint16_t)sl_min(path, frame - SL_SEND_ROOM);
	p->max_long = (uint16_t)sl_min(path, SL_TX_BUFS * frame - SL_SEND_ROOM);
}

static bool rule_says_os(const struct sl_sock *sk, const struct sl_path *p)
{
	if (sl_udp_sk_const(sk)->udp.connected)
		return false; /* decided at connect, as udp_connect */
	return sl_port_decide(p->leg->port, SL_ROLE_UDP_SENDER, &p->dst, p->port, NULL, 0) ==
	       SL_RULE_OS;
}

void sl_send_make_path(struct sl_sock *sk, struct sl_lane *lane, struct sl_path *p,
		       const struct sl_tx_ctl *ctl, uint64_t now)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_route_key key = {
		.dst = p->dst,
		.oif = p->oif,
		.tos = sl_sock_tos(sk, &p->dst),
		.mark = sk->mark,
		.mc_noloop = sl_addr_is_multicast(&p->dst) && !us->mc_loop,
	};
	struct sl_dst *d;

	if (ctl && ctl->special && !sl_addr_is_any(&ctl->src))
		key.src = ctl->src;
	else if (sk->bound_addr && !sl_addr_is_multicast(&sk->local))
		key.src = sk->local;
	else if (sl_addr_is_v4(&p->dst))
		key.src = sl_addr_v4(0);
	sl_route_key_ports(&key, IPPROTO_UDP, sk->local_port, p->port);
	d = sl_lane_dst(lane, &key, now);
	p->d = d;
	p->serial = d->serial;
	p->leg = d->leg && d->mac_ok ? d->leg : NULL;
	if (p->leg && (p->leg->dead || sl_load(&us->ruled) || rule_says_os(sk, p)))
		p->leg = NULL;
	if (p->leg) {
		sl_dst_stir_id(d, now);
		make_headers(sk, p, ctl);
		p->leg = sl_leg_by_prio(p->leg, prio_of(sk, ctl));
	}
	if (p->leg && sl_unlikely(us->pacer || sl_load(&sl_paces_used)))
		p->leg = sl_sock_pace_leg(sk, p);
	else if (sl_unlikely(sl_load(&sl_paces_used)))
		sl_sock_pace_early(sk, p);
}

static uint32_t out_device(const struct sl_sock *sk, const struct sl_addr *dst, uint32_t scope)
{
	if (sk->bound_if)
		return sk->bound_if;
	if (scope && (sl_addr_is_linklocal(dst) || sl_addr_is_multicast(dst)))
		return scope;
	if (sl_addr_is_multicast(dst))
		return sl_udp_sk_const(sk)->mc_oif;
	return sk->unicast_oif;
}

/* False: the socket cannot send to an address of this family, as an IPv6 socket may be bound to one
 * family alone (the kernel then says ENETUNREACH or EAFNOSUPPORT). */
static bool speaks_to(const struct sl_sock *sk, const struct sl_addr *dst)
{
	if (sk->family == AF_INET)
		return true;
	return sl_addr_is_v4(dst) ? !sk->v6only : !sl_addr_is_v4(&sk->local);
}

int sl_send_find(struct sl_sock *sk, const struct sl_tx_req *r, struct sl_path *p)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint32_t scope = sk->local_scope;
	struct sl_addr dst;
	uint16_t port;

	if (r->name) {
		if (r->namelen > sizeof(struct sockaddr_storage))
			return SL_SEND_BY_OS;
		if (sl_addr_from_sockaddr(r->name, r->namelen, &dst, &port, &scope) < 0)
			return SL_SEND_BY_OS;
		if (sk->family == AF_INET && r->name->sa_family != AF_INET)
			return SL_SEND_BY_OS;
	} else if (us->udp.connected) {
		dst = us->udp.remote;
		port = us->udp.remote_port;
	} else {
		return SL_SEND_BY_OS; /* EDESTADDRREQ */
	}
	if (port == 0 || sl_addr_is_any(&dst) || !speaks_to(sk, &dst))
		return SL_SEND_BY_OS;
	if (p->d && p->port == port && sl_addr_eq(&p->dst, &dst) &&
	    p->oif == out_device(sk, &dst, scope))
		return 0;
	p->d = NULL;
	p->dst = dst;
	p->port = port;
	p->oif = out_device(sk, &dst, scope);
	p->v4_name = r->name ? sl_send_v4_name(r) : 0;
	p->to_peer = !r->name;
	return 0;
}
