/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the transport header of a frame: Ethernet, two VLAN tags at most, IPv4 with options, IPv6
 * with extension headers. A packet that the kernel would not simply deliver is left to the
 * kernel. */
#ifndef SL_PARSE_BPF_H
#define SL_PARSE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "ip4.bpf.h"
#include "ip6.bpf.h"
#include "steer.h"
#include "view.bpf.h"

struct sl_vlan_hdr {
	__be16 tci;
	__be16 proto; /* EtherType of the next header */
};

static __always_inline int sl_is_vlan(__be16 proto)
{
	return proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD);
}

/* A VLAN tag in the form that the map keys have. VID 0 carries a priority alone and means no VLAN
 * (802.1Q 9.6). */
static __always_inline __u32 sl_tag(__be16 proto, __u16 tci)
{
	__u32 vid = tci & 0xfff;

	return vid && proto == bpf_htons(ETH_P_8021AD) ? vid | SL_VLAN_AD : vid;
}

/* Sets l3 and vlan; *proto is the EtherType of the header at l3, *nought is sl_nought()'s. */
static __always_inline int sl_parse_eth(struct sl_view *p, __be16 *proto, __u32 *nought)
{
	struct ethhdr *eth = sl_at(p, 0, sizeof(*eth));
	struct sl_vlan_hdr *tag;

	if (!eth)
		return SL_HDR_NOT_IP;
	*nought = sl_nought(eth->h_dest + 2);
	*proto = eth->h_proto;
	p->l3 = sizeof(*eth);
	p->vlan = 0;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (!sl_is_vlan(*proto))
			return SL_HDR_OK;
		tag = sl_at(p, p->l3, sizeof(*tag));
		if (!tag)
			return SL_HDR_UNKNOWN;
		p->vlan = p->vlan << 16 | sl_tag(*proto, bpf_ntohs(tag->tci));
		*proto = tag->proto;
		p->l3 += sizeof(*tag);
	}
	return SL_HDR_OK;
}

/* The whole header must be there, so that user space has no partial case. */
static __always_inline int sl_parse_l4(struct sl_view *p, __u32 nought)
{
	struct udphdr *l4;

	if (p->l4 > SL_MAX_L4)
		return SL_HDR_UNKNOWN;
	p->l4 = sl_veil(p->l4, nought, 0x1ff);
	p->proto = sl_veil(p->proto, nought, 0xff);
	p->v6 = sl_veil(p->v6, nought, 1);
	if (p->proto == IPPROTO_UDP)
		l4 = sl_at(p, p->l4, sizeof(struct udphdr));
	else if (p->proto == IPPROTO_TCP)
		l4 = sl_at(p, p->l4, sizeof(struct tcphdr));
	else if (p->proto == (p->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return SL_HDR_ICMP;
	else
		return SL_HDR_UNKNOWN;
	if (!l4)
		return SL_HDR_UNKNOWN;
	p->src_port = bpf_ntohs(l4->source);
	p->dst_port = bpf_ntohs(l4->dest);
	return SL_HDR_OK;
}

static __always_inline int sl_parse(struct sl_ctx *ctx, struct sl_view *p)
{
	__u32 nought;
	__be16 proto;
	int err = sl_parse_eth(p, &proto, &nought);

	if (err)
		return err;
	sl_view_again(ctx, p);
	p->l3 = sl_veil(p->l3, nought, 0x1f);
	p->vlan = sl_veil(p->vlan, nought, ~0u);
	if (proto == bpf_htons(ETH_P_IP))
		err = sl_parse_ip4(ctx, p);
	else if (proto == bpf_htons(ETH_P_IPV6))
		err = sl_parse_ip6(ctx, p);
	else
		return SL_HDR_NOT_IP;
	return err ? err : sl_parse_l4(p, nought);
}

#endif
