/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Takes packets of claimed flows out of VXLAN (RFC 7348).
 *
 * Theory of operation: a VXLAN device receives on a UDP port of the host, and the word of `ports`
 * says so. steer_vxlan() checks the outer headers as the kernel would and looks at the port of the
 * inner packet: one without a claim passes as it came. For the others the frame is made to begin
 * behind the outer headers, and is steered like any other; the VNI stands in the place of a VLAN
 * tag. A packet that has no claim after all gets its outer headers back, which still lie in front
 * of it. Whatever is unusual (options, fragments, flags, a tag) passes: the VXLAN device gets it.
 */
#ifndef SL_VXLAN_BPF_H
#define SL_VXLAN_BPF_H

#include "find.bpf.h"
#include "martian.bpf.h"
#include "recent.bpf.h"
#include "vxlan_inner.bpf.h"
#include "vxlan_outer.bpf.h"

#define SL_VXLAN_PULL 144 /* bytes of the longest headers: to the end of TCP, IPv6 in IPv6 */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_MAX_VXLANS);
	__type(key, struct sl_vxlan_key);
	__type(value, struct sl_vxlan);
} vxlans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_MAX_STATIONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_station_key);
	__type(value, struct sl_station);
} stations SEC(".maps");

/* 0: no VXLAN device may be opened, and the verifier need not look at what follows. Set before the
 * program is loaded. */
#ifdef SL_NO_VXLAN
#define has_vxlan 0
#else
const volatile __u8 has_vxlan = 1;
#endif

static __always_inline struct sl_vxlan_key vxlan_key(const struct sl_vxlan_outer *o)
{
	struct sl_vxlan_key key = {};

	key.vni = bpf_ntohl(o->vni) >> 8;
	key.port = bpf_ntohs(o->udp.dest);
	return key;
}

/* True: the sending station is not known to be behind another host (vxlan_snoop()). */
static __always_inline int vxlan_is_from(const struct sl_view *p, const struct sl_vxlan_outer *o,
					 int v6)
{
	struct sl_station_key key = {.of = vxlan_key(o)};
	struct sl_station *s;

	__builtin_memcpy(key.mac, o->inner.h_source, 6);
	s = bpf_map_lookup_elem(&stations, &key);
	if (!s)
		return 1;
	if (v6) {
		struct ipv6hdr *ip = sl_at(p, ETH_HLEN, sizeof(*ip));

		return ip && is_addr6(&ip->saddr, s->remote);
	} else {
		struct iphdr *ip = sl_at(p, ETH_HLEN, sizeof(*ip));

		return ip && ip->saddr == *(const __be32 *)(s->remote + 12);
	}
}

#define SL_TAKE_OUTER6 1
#define SL_TAKE_INNER6 2
#define SL_TAKE_ECN    2 /* the mark's place */
#define SL_TAKE_BINDS  16

static __always_inline int vxlan_take_in(struct sl_ctx *ctx, int v6, __u64 how)
{
	struct sl_view p = sl_view(ctx);
	struct sl_vxlan_outer *o = sl_at(&p, SL_VXLAN_AT(v6), sizeof(*o));
	__u32 ecn = how >> SL_TAKE_ECN & SL_CE;

	if (!o || (how & SL_TAKE_BINDS && !vxlan_is_from(&p, o, v6)))
		return 0;
	return how & SL_TAKE_INNER6 ? vxlan_take6(ctx, &p, o, v6, ecn)
				    : vxlan_take4(ctx, &p, o, v6, ecn);
}

/* The last checks of a packet that a process has claimed; nonzero: they hold. A global function, so
 * that the verifier walks it once. */
__noinline int vxlan_take(struct sl_ctx *ctx, __u64 how)
{
	if (!has_vxlan)
		return 0;
	return how & SL_TAKE_OUTER6 ? vxlan_take_in(ctx, 1, how) : vxlan_take_in(ctx, 0, how);
}

static __always_inline struct sl_vxlan *vxlan_device(const struct sl_vxlan_outer *o)
{
	struct sl_vxlan_key key = vxlan_key(o);

	return bpf_map_lookup_elem(&vxlans, &key);
}

/* Opens a packet whose outer headers are found to be those of the device. Returns its tag with the
 * offset of the inner transport header from the inner frame's start above; 0: the packet is the
 * kernel's, and is as it came. (In a tc program it stays as it came, since redirect_inner() takes
 * the outer headers off. That must be told whether these are IPv6 and bear a mark.) */
static __always_inline __u64 vxlan_open(struct sl_ctx *ctx, struct sl_view *p,
					struct sl_vxlan_outer *o, const struct sl_vxlan *v, int v6,
					__u32 ecn)
{
	struct udphdr *l4;
	__u64 *word, tag;
	__u32 at, port;

	at = o->inner.h_proto == bpf_htons(ETH_P_IP)     ? vxlan_inner4(p, o, v6)
	     : o->inner.h_proto == bpf_htons(ETH_P_IPV6) ? vxlan_inner6(p, o, v6)
							 : 0;
	if (!at || (p->proto != IPPROTO_UDP && p->proto != IPPROTO_TCP) ||
	    !vxlan_is_to(o, v, p->proto == IPPROTO_UDP))
		return 0;
	l4 = sl_at(p, at, p->proto == IPPROTO_TCP ? sizeof(struct tcphdr) : sizeof(*l4));
	if (!l4 || (p->proto == IPPROTO_UDP && !l4->check && o->udp.check))
		return 0;
	at -= SL_VXLAN_BYTES(v6);
	tag = v->tag | (__u64)at << 32 | (__u64)p->proto << 40 | (__u64)p->v6 << 48;
#ifdef SL_SKB
	tag |= (__u64)v6 << 49 | (__u64)(ecn & 1) << 50;
#endif
	port = bpf_ntohs(l4->dest) + (p->proto == IPPROTO_TCP ? 65536 : 0);
	word = bpf_map_lookup_elem(&ports, &port);
	if (!word || !(*word & SL_L4_PORT_CLAIMED))
		return 0; /* as most that is nobody's, without a look at sums */
	if (!vxlan_take(ctx, (v6 ? SL_TAKE_OUTER6 : 0) | (p->v6 ? SL_TAKE_INNER6 : 0) |
				     (__u64)ecn << SL_TAKE_ECN |
				     (v->flags & SL_VXLAN_BINDS ? SL_TAKE_BINDS : 0)))
		return 0;
#ifndef SL_SKB
	if (bpf_xdp_adjust_head(ctx, SL_VXLAN_BYTES(v6)))
		return 0;
#endif
	return tag;
}

/* True: the record can stand in front of the inner frame, and all headers can be read. (A tc
 * program's packet may have them in fragments.) */
static __always_inline int vxlan_has_room(struct sl_ctx *ctx)
{
#ifdef SL_SKB
	__u32 linear = (__u32)(ctx->data_end - ctx->data), len = ctx->len;

	return linear >= SL_VXLAN_PULL || linear >= len ||
	       !bpf_skb_pull_data(ctx, len < SL_VXLAN_PULL ? len : SL_VXLAN_PULL);
#else
	void *data = (void *)(long)ctx->data, *meta = (void *)(long)ctx->data_meta;

	return !(meta < data || meta > data);
#endif
}

/* vxlan_open() for a packet that the outer headers and the inner port allow to be ours: the frame
 * begins with the inner frame then. A global function, as pick(). (The driver must carry a record
 * in front of the frame: one in it would overwrite the outer headers.) */
__noinline __u64 vxlan_open4(struct sl_ctx *ctx)
{
	struct sl_vxlan_outer *o;
	struct sl_vxlan *v;
	struct sl_view p;
	struct iphdr *ip;

	if (!has_vxlan || !vxlan_has_room(ctx))
		return 0;
	p = sl_view(ctx);
	ip = sl_at(&p, ETH_HLEN, sizeof(*ip));
	o = sl_at(&p, SL_VXLAN_AT(0), sizeof(*o));
	if (!ip || !o || !vxlan_is_plain4(ctx, &p, ip, o))
		return 0;
	v = vxlan_device(o);
	if (!v || !vxlan_is_for4(ctx, ip, v))
		return 0;
	return vxlan_open(ctx, &p, o, v, 0, ip->tos & SL_CE);
}

__noinline __u64 vxlan_open6(struct sl_ctx *ctx)
{
	struct sl_vxlan_outer *o;
	struct sl_vxlan *v;
	struct sl_view p;
	struct ipv6hdr *ip;

	if (!has_vxlan || !vxlan_has_room(ctx))
		return 0;
	p = sl_view(ctx);
	ip = sl_at(&p, ETH_HLEN, sizeof(*ip));
	o = sl_at(&p, SL_VXLAN_AT(1), sizeof(*o));
	if (!ip || !o || !vxlan_is_plain6(ctx, &p, ip, o))
		return 0;
	v = vxlan_device(o);
	if (!v || !vxlan_is_for6(ip, v) || (!o->udp.check && !(v->flags & SL_VXLAN_NO_SUM)))
		return 0;
	return vxlan_open(ctx, &p, o, v, 1, ((const __u8 *)ip)[1] >> 4 & SL_CE);
}

#endif
