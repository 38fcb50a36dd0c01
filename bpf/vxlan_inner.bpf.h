/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whether the packet in VXLAN is one that a lane can take, and the checks of the outer packet that
 * need the inner one. Part of vxlan.bpf.h. */
#ifndef SL_VXLAN_INNER_BPF_H
#define SL_VXLAN_INNER_BPF_H

#include "vxlan_outer.bpf.h"

/* Where the sum of what the outer checksum covers begins: at the outer addresses, and for the sake
 * of whole words at what is in front of them, which is taken off again. */
#define SL_VXLAN_SUMMED(v6) ((v6) ? 20 : 24)

/* The outer checksum. The receiver checks the inner one, so the sum of what that covers is known,
 * also while the sender's kernel left it unfinished. n: bytes of the inner IP header; pseudo: sum
 * of the inner pseudo-header. (Of a packet that stands for several the kernel has no outer
 * checksum, and checks none: those that came over a wire were checked one by one.) */
static __always_inline int vxlan_sum_is_good(struct sl_ctx *ctx, const struct sl_view *p,
					     const struct sl_vxlan_outer *o, int v6, __u32 n,
					     __u64 pseudo)
{
	void *from = p->data + SL_VXLAN_SUMMED(v6);
	__u64 sum;
	__s64 heads;

#ifdef SL_SKB
	if (ctx->gso_size)
		return 1;
#endif
	if (!o->udp.check)
		return 1;
	heads = bpf_csum_diff(0, 0, from, SL_VXLAN_L3(v6) - SL_VXLAN_SUMMED(v6) + n, 0);
	sum = (__u32)heads;
	sum += (__u64)(__u16) ~*(__u16 *)from + bpf_htons(IPPROTO_UDP) + o->udp.len;
	return heads >= 0 && sl_fold(sum + (__u16)~sl_fold(pseudo)) == 0xffff;
}

/* Finds the inner transport header, whose offset in the frame is returned; 0: the packet is the
 * kernel's. Sets p as for the frame that begins behind the outer headers. v6: the outer one is. */
static __always_inline __u32 vxlan_inner4(struct sl_view *p, const struct sl_vxlan_outer *o, int v6)
{
	struct iphdr *ip = sl_at(p, SL_VXLAN_L3(v6), sizeof(*ip));
	__u32 left = bpf_ntohs(o->udp.len) - 8 - 8 - ETH_HLEN;

	if (!ip || ip->version != 4 || ip->ihl != 5 || ip->frag_off & bpf_htons(0x3fff) ||
	    bpf_ntohs(ip->tot_len) != left)
		return 0;
	p->v6 = 0;
	p->proto = ip->protocol;
	return SL_VXLAN_L3(v6) + 20;
}

static __always_inline __u32 vxlan_inner6(struct sl_view *p, const struct sl_vxlan_outer *o, int v6)
{
	struct ipv6hdr *ip = sl_at(p, SL_VXLAN_L3(v6), sizeof(*ip));
	__u32 left = bpf_ntohs(o->udp.len) - 8 - 8 - ETH_HLEN;

	if (!ip || ip->version != 6 || bpf_ntohs(ip->payload_len) + 40 != left)
		return 0;
	p->v6 = 1;
	p->proto = ip->nexthdr;
	return SL_VXLAN_L3(v6) + 40;
}

/* Checks the outer sum of what vxlan_inner4() has found, and takes its mark of congestion, ecn,
 * over. False: the packet is the kernel's. */
static __always_inline int vxlan_take4(struct sl_ctx *ctx, struct sl_view *p,
				       const struct sl_vxlan_outer *o, int v6, __u32 ecn)
{
	struct iphdr *ip = sl_at(p, SL_VXLAN_L3(v6), sizeof(*ip));
	__u64 pseudo;

	if (!ip)
		return 0;
	pseudo = (__u64)ip->saddr + ip->daddr + bpf_htons(ip->protocol) +
		 bpf_htons(bpf_ntohs(ip->tot_len) - 20);
	return vxlan_sum_is_good(ctx, p, o, v6, sizeof(*ip), pseudo) &&
	       !(ecn & 1 && vxlan_mark4(ip, ecn));
}

static __always_inline int vxlan_take6(struct sl_ctx *ctx, struct sl_view *p,
				       struct sl_vxlan_outer *o, int v6, __u32 ecn)
{
	struct ipv6hdr *ip = sl_at(p, SL_VXLAN_L3(v6), sizeof(*ip));
	__u64 pseudo;

	if (!ip)
		return 0;
	pseudo = (__u32)bpf_csum_diff(0, 0, (void *)&ip->saddr, 32, 0);
	pseudo += bpf_htons(ip->nexthdr) + ip->payload_len;
	return vxlan_sum_is_good(ctx, p, o, v6, sizeof(*ip), pseudo) &&
	       !(ecn & 1 && vxlan_mark6(ip, o, ecn));
}

#endif
