/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the transport header of a frame: Ethernet, two VLAN tags at most, IPv4 with options, IPv6
 * with extension headers. A packet that the kernel would not simply deliver is left to the
 * kernel. */
#ifndef SL_PARSE_BPF_H
#define SL_PARSE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "steer.h"

#define SL_IP6_MAX_EXT  4   /* extension headers looked through */
#define SL_IP6_MAX_OPTS 8   /* options looked through in one of them */
#define SL_MAX_L4       384 /* transport header starts below: keeps the verifier's ranges small */

#define SL_IPPROTO_HOPOPTS  0
#define SL_IPPROTO_ROUTING  43
#define SL_IPPROTO_FRAGMENT 44
#define SL_IPPROTO_DSTOPTS  60

enum sl_parse {
	SL_PARSE_OK,
	SL_PARSE_NOT_IP,
	SL_PARSE_FRAGMENT,
	SL_PARSE_UNKNOWN,
	SL_PARSE_ICMP, /* the ICMP of the packet's IP version; l4 is where it starts */
};

struct sl_vlan_hdr {
	__be16 tci;
	__be16 proto; /* EtherType of the next header */
};

/* Result of the parser. Offsets are from the start of the frame. */
struct sl_pkt {
	void *data;
	void *data_end;
	__u32 l3;
	__u32 l4;
	__u32 vlan;               /* as in struct sl_flow_key */
	__u16 src_port, dst_port; /* host order */
	__u8 proto;
	__u8 v6;
};

/* Points at len bytes at an offset, or NULL when the frame ends before. */
static __always_inline void *sl_at(const struct sl_pkt *p, __u32 off, __u32 len)
{
	void *at = p->data + off;

	return at + len <= p->data_end ? at : 0;
}

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

/* Sets l3 and vlan; *proto is the EtherType of the header at l3. */
static __always_inline int sl_parse_eth(struct sl_pkt *p, __be16 *proto)
{
	struct ethhdr *eth = sl_at(p, 0, sizeof(*eth));
	struct sl_vlan_hdr *tag;

	if (!eth)
		return SL_PARSE_NOT_IP;
	*proto = eth->h_proto;
	p->l3 = sizeof(*eth);
	p->vlan = 0;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (!sl_is_vlan(*proto))
			return SL_PARSE_OK;
		tag = sl_at(p, p->l3, sizeof(*tag));
		if (!tag)
			return SL_PARSE_UNKNOWN;
		p->vlan = p->vlan << 16 | sl_tag(*proto, bpf_ntohs(tag->tci));
		*proto = tag->proto;
		p->l3 += sizeof(*tag);
	}
	return SL_PARSE_OK;
}

/* The walks over options and extension headers are global functions. They are rare, so the call
 * costs nothing, and the verifier checks each one once, for all arguments, instead of along every
 * path (milliseconds instead of one second). They take the context and make their own view of
 * it. */
static __always_inline struct sl_pkt sl_view(struct xdp_md *ctx)
{
	struct sl_pkt p = {
		.data = (void *)(long)ctx->data,
		.data_end = (void *)(long)ctx->data_end,
	};

	return p;
}

/* Makes an offset that was checked against SL_MAX_L4 look the same on every path, so that the
 * verifier recognises a loop iteration that it has checked. SL_FORGET_MORE() is for an offset to
 * which an option's length was added. */
#define SL_FORGET(off)      asm volatile("%0 &= 0x1ff" : "+r"(off))
#define SL_FORGET_MORE(off) asm volatile("%0 &= 0x3ff" : "+r"(off))

/* Bounds an offset that a global function was given: the verifier knows nothing about it. A
 * comparison with SL_MAX_L4 is not enough: Linux 6.1 applies its result to the register, not to the
 * copy of it on the stack. */
static __always_inline __u64 sl_bounded(__u64 off)
{
	asm volatile("%0 &= 0x1ff" : "+r"(off));
	return off;
}

/* Accepts options that change nothing for the receiver and that it need not write to: end,
 * no-operation, router alert (148). Any other goes to the kernel, which drops malformed ones. */
__noinline int sl_ip4_opts(struct xdp_md *ctx, __u32 off, __u32 end)
{
	struct sl_pkt p = sl_view(ctx);

	for (int i = 0; i < 40; i++) {
		__u32 len = 1;
		__u8 *opt;

		if (off >= end)
			return SL_PARSE_OK;
		if (off > SL_MAX_L4)
			return SL_PARSE_UNKNOWN;
		SL_FORGET(off);
		opt = sl_at(&p, off, 2); /* a transport header follows: two bytes are there */
		if (!opt)
			return SL_PARSE_UNKNOWN;
		if (opt[0] == 0)
			return SL_PARSE_OK;
		if (opt[0] != 1) {
			len = opt[1];
			if (opt[0] != 148 || len != 4)
				return SL_PARSE_UNKNOWN;
		}
		off += len;
		SL_FORGET_MORE(off);
		if (off > end)
			return SL_PARSE_UNKNOWN;
	}
	return off == end ? SL_PARSE_OK : SL_PARSE_UNKNOWN;
}

static __always_inline int sl_parse_ip4(struct xdp_md *ctx, struct sl_pkt *p)
{
	struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));
	__u32 len;

	if (!ip || ip->version != 4)
		return SL_PARSE_UNKNOWN;
	len = ip->ihl * 4;
	if (len < sizeof(*ip))
		return SL_PARSE_UNKNOWN;
	if (ip->frag_off & bpf_htons(0x3fff)) /* more fragments, or an offset */
		return SL_PARSE_FRAGMENT;
	p->v6 = 0;
	p->proto = ip->protocol;
	p->l4 = p->l3 + len;
	if (len == sizeof(*ip))
		return SL_PARSE_OK;
	return sl_ip4_opts(ctx, p->l3 + sizeof(*ip), p->l4);
}

/* True: the option must not be skipped, or is malformed. Unknown options whose type starts with 00
 * are skipped (RFC 8200 4.2), the others ask for more; so do CALIPSO (7), a security label, and
 * IOAM (49). Router alert (5) has two bytes. Padding is zeros (RFC 4942 2.1.9.5); the kernel may
 * judge padding of more than four. */
static __always_inline __u32 sl_is_odd_opt6(const __u8 *opt)
{
	__u32 type = opt[0], n = opt[1];

	if (type > 1)
		return (type & 0xc0) | (type == 7) | (type == 49) | ((type == 5) & (n != 2));
	if (!type)
		return 0;
	if (n > 4)
		return 1;
	return (__u64)bpf_ntohl(*(const __be32 *)(opt + 2)) >> (32 - n * 8) != 0;
}

/* Checks the options from off to end. Padding is seven bytes long at most (ip6_parse_tlv() of
 * Linux). Packets with options that the kernel would not skip go to the kernel. */
__noinline int sl_ip6_opts(struct xdp_md *ctx, __u32 off, __u32 end)
{
	struct sl_pkt p = sl_view(ctx);
	__u32 from = off; /* start of the padding that ends at off */

	for (int i = 0; i < SL_IP6_MAX_OPTS; i++) {
		__u8 *opt;

		if (off >= end)
			return off == end ? SL_PARSE_OK : SL_PARSE_UNKNOWN;
		if (off > SL_MAX_L4)
			return SL_PARSE_UNKNOWN;
		SL_FORGET(off);
		SL_FORGET(from);
		opt = sl_at(&p, off, 8); /* the header behind the last option is as long */
		if (!opt || sl_is_odd_opt6(opt))
			return SL_PARSE_UNKNOWN;
		off += opt[0] == 0 ? 1 : 2 + opt[1];
		if (opt[0] > 1)
			from = off;
		if (off - from > 7)
			return SL_PARSE_UNKNOWN;
	}
	return off == end ? SL_PARSE_OK : SL_PARSE_UNKNOWN;
}

static __always_inline int sl_is_ip6_ext(__u32 next)
{
	return next == SL_IPPROTO_HOPOPTS || next == SL_IPPROTO_ROUTING ||
	       next == SL_IPPROTO_DSTOPTS || next == SL_IPPROTO_FRAGMENT;
}

/* Walks the extension headers; next is the type of the first, at off. Hop-by-hop options come first
 * or not at all (RFC 8200 4.1). Routing headers go to the kernel, which has settings for each type.
 * Returns the offset behind the headers << 8 | the protocol found there, or -enum sl_parse. */
__noinline int sl_ip6_ext(struct xdp_md *ctx, __u32 off, __u32 next)
{
	struct sl_pkt p = sl_view(ctx);

	for (int i = 0; i < SL_IP6_MAX_EXT; i++) {
		__u8 *ext;
		__u32 end;

		if (next == SL_IPPROTO_FRAGMENT)
			return -SL_PARSE_FRAGMENT;
		if (off > SL_MAX_L4)
			return -SL_PARSE_UNKNOWN;
		SL_FORGET(off);
		ext = sl_at(&p, off, 8);
		if (!ext)
			return -SL_PARSE_UNKNOWN;
		end = off + 8 + ext[1] * 8;
		if (next == SL_IPPROTO_ROUTING || (next == SL_IPPROTO_HOPOPTS && i) ||
		    sl_ip6_opts(ctx, off + 2, end) != SL_PARSE_OK)
			return -SL_PARSE_UNKNOWN;
		next = ext[0];
		off = end;
		if (!sl_is_ip6_ext(next))
			return (int)(off << 8 | next);
	}
	return next == SL_IPPROTO_FRAGMENT ? -SL_PARSE_FRAGMENT : -SL_PARSE_UNKNOWN;
}

static __always_inline int sl_parse_ip6(struct xdp_md *ctx, struct sl_pkt *p)
{
	struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));
	int ext;

	if (!ip || ip->version != 6)
		return SL_PARSE_UNKNOWN;
	p->v6 = 1;
	p->proto = ip->nexthdr;
	p->l4 = p->l3 + sizeof(*ip);
	if (!sl_is_ip6_ext(p->proto))
		return SL_PARSE_OK;
	ext = sl_ip6_ext(ctx, p->l4, p->proto);
	if (ext < 0)
		return -ext;
	p->proto = ext & 0xff;
	p->l4 = (ext >> 8) & 0x3ff; /* for the verifier, which does not look into the function */
	return SL_PARSE_OK;
}

/* The whole header must be there, so that user space has no partial case. */
static __always_inline int sl_parse_l4(struct sl_pkt *p)
{
	struct udphdr *l4;

	if (p->l4 > SL_MAX_L4)
		return SL_PARSE_UNKNOWN;
	if (p->proto == IPPROTO_UDP)
		l4 = sl_at(p, p->l4, sizeof(struct udphdr));
	else if (p->proto == IPPROTO_TCP)
		l4 = sl_at(p, p->l4, sizeof(struct tcphdr));
	else if (p->proto == (p->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return SL_PARSE_ICMP;
	else
		return SL_PARSE_UNKNOWN;
	if (!l4)
		return SL_PARSE_UNKNOWN;
	p->src_port = bpf_ntohs(l4->source);
	p->dst_port = bpf_ntohs(l4->dest);
	return SL_PARSE_OK;
}

static __always_inline int sl_parse(struct xdp_md *ctx, struct sl_pkt *p)
{
	__be16 proto;
	int err = sl_parse_eth(p, &proto);

	if (err)
		return err;
	if (proto == bpf_htons(ETH_P_IP))
		err = sl_parse_ip4(ctx, p);
	else if (proto == bpf_htons(ETH_P_IPV6))
		err = sl_parse_ip6(ctx, p);
	else
		return SL_PARSE_NOT_IP;
	return err ? err : sl_parse_l4(p);
}

#endif
