/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whether the outer headers of a packet in VXLAN are as the kernel's VXLAN device wants them. Part
 * of vxlan.bpf.h. */
#ifndef SL_VXLAN_OUTER_BPF_H
#define SL_VXLAN_OUTER_BPF_H

#include "find.bpf.h"
#include "vxlan.h"
#include "vxlan_mark.bpf.h"

#define SL_VXLAN_FLAGS 0x08000000 /* the VNI is there, and nothing else */

#define SL_VXLAN_IP_MOST 0x3fff /* bytes of the longest outer packet that XDP opens */

/* Where the headers behind the outer IP are in the frame, and the inner IP. */
#define SL_VXLAN_AT(v6)    (ETH_HLEN + ((v6) ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)))
#define SL_VXLAN_L3(v6)    (SL_VXLAN_AT(v6) + (__u32)sizeof(struct sl_vxlan_outer))
#define SL_VXLAN_BYTES(v6) ((v6) ? SL_VXLAN_BYTES6 : SL_VXLAN_BYTES4)

/* True: the frame has all of the bytes that the outer IP header claims. */
static __always_inline int vxlan_is_whole(struct sl_ctx *ctx, const struct sl_view *p, __u32 bytes)
{
#ifdef SL_SKB
	return ctx->gso_size ? ETH_HLEN + bytes == ctx->len : ETH_HLEN + bytes <= ctx->len;
#else
	if (bytes > SL_VXLAN_IP_MOST)
		return 0;
	asm volatile("%0 &= 0x3fff"
		     : "+r"(bytes)); /* verifiers before Linux 6.13 see no other bound */
	return p->data + ETH_HLEN + bytes <= p->data_end;
#endif
}

/* The form of the outer headers. */
static __always_inline int vxlan_is_plain(const struct sl_vxlan_outer *o)
{
	return o->flags == bpf_htonl(SL_VXLAN_FLAGS) && !(o->vni & bpf_htonl(0xff));
}

static __always_inline int vxlan_is_plain4(struct sl_ctx *ctx, const struct sl_view *p,
					   const struct iphdr *ip, const struct sl_vxlan_outer *o)
{
	const __u16 *w = (const __u16 *)ip;
	__u32 bytes = bpf_ntohs(ip->tot_len), sum = 0;

#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += w[i];
	if (ip->ihl != 5 || sl_fold(sum) != 0xffff || bpf_ntohs(o->udp.len) + 20 != bytes)
		return 0;
	return vxlan_is_whole(ctx, p, bytes) && vxlan_is_plain(o);
}

static __always_inline int vxlan_is_plain6(struct sl_ctx *ctx, const struct sl_view *p,
					   const struct ipv6hdr *ip, const struct sl_vxlan_outer *o)
{
	__u32 bytes = bpf_ntohs(ip->payload_len);

	if (ip->version != 6 || ip->nexthdr != IPPROTO_UDP || o->udp.len != ip->payload_len)
		return 0;
	return vxlan_is_whole(ctx, p, 40 + bytes) && vxlan_is_plain(o);
}

static __always_inline int is_of_host4(__be32 addr)
{
	struct sl_local_key key = {};

	key.addr[10] = key.addr[11] = 0xff;
	__builtin_memcpy(key.addr + 12, &addr, 4);
	return !!bpf_map_lookup_elem(&locals, &key);
}

static __always_inline int is_of_host6(const void *addr)
{
	struct sl_local_key key = {};

	__builtin_memcpy(key.addr, addr, 16);
	return !!bpf_map_lookup_elem(&locals, &key);
}

/* True: the kernel's rp_filter admits the source. */
static __always_inline int vxlan_has_way_back(struct sl_ctx *ctx, const struct iphdr *ip,
					      __u32 flags)
{
#ifdef SL_SKB
	__u32 by = ctx->ifindex;
#else
	__u32 by = ctx->ingress_ifindex;
#endif
	struct bpf_fib_lookup fib = {
		.family = 2, /* AF_INET */
		.ifindex = by,
		.ipv4_src = ip->daddr,
		.ipv4_dst = ip->saddr,
	};
	long err;

	if (!(flags & (SL_VXLAN_STRICT | SL_VXLAN_LOOSE)))
		return 1;
	err = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
#ifdef SL_SKB
	if (err == BPF_FIB_LKUP_RET_FRAG_NEEDED) /* it would be too long for the way back */
		err = BPF_FIB_LKUP_RET_SUCCESS;
#endif
	if (err != BPF_FIB_LKUP_RET_SUCCESS && err != BPF_FIB_LKUP_RET_NO_NEIGH)
		return 0;
	return !(flags & SL_VXLAN_STRICT) || fib.ifindex == by;
}

/* The ends of the outer packet: the source was found to be no impossible one before. */
static __always_inline int vxlan_is_for4(struct sl_ctx *ctx, const struct iphdr *ip,
					 const struct sl_vxlan *v)
{
	if (v->flags & SL_VXLAN_V6)
		return 0;
	if (ip->daddr != *(const __be32 *)(v->local + 12) &&
	    (*(const __be32 *)(v->local + 12) || !is_of_host4(ip->daddr)))
		return 0;
	if (ip->saddr == *(const __be32 *)(v->remote + 12))
		return 1;
	return !is_of_host4(ip->saddr) && vxlan_has_way_back(ctx, ip, v->flags);
}

static __always_inline int is_addr6(const void *a, const void *b)
{
	const __u32 *x = a, *y = b;

	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]));
}

/* (A link-local address may be that of another device.) */
static __always_inline int vxlan_is_for6(const struct ipv6hdr *ip, const struct sl_vxlan *v)
{
	const __u32 *l = (const __u32 *)v->local;
	const __u8 *dst = (const __u8 *)&ip->daddr, *src = (const __u8 *)&ip->saddr;

	if (!(v->flags & SL_VXLAN_V6))
		return 0;
	if (!is_addr6(dst, v->local) &&
	    (l[0] | l[1] | l[2] | l[3] || dst[0] == 0xfe || dst[0] == 0xff || !is_of_host6(dst)))
		return 0;
	return is_addr6(src, v->remote) || (src[0] != 0xfe && !is_of_host6(src));
}

/* The stations of the inner frame. A frame from the device's own address has gone in a circle. */
static __always_inline int vxlan_is_to(const struct sl_vxlan_outer *o, const struct sl_vxlan *v,
				       int udp)
{
	const __u16 *to = (const __u16 *)o->inner.h_dest, *from = (const __u16 *)o->inner.h_source;

	if (!((from[0] ^ v->mac[0]) | (from[1] ^ v->mac[1]) | (from[2] ^ v->mac[2])))
		return 0;
	if (!((to[0] ^ v->mac[0]) | (to[1] ^ v->mac[1]) | (to[2] ^ v->mac[2])))
		return 1;
	return udp && o->inner.h_dest[0] & 1;
}

#endif
