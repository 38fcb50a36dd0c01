/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The IPv6 header and its extension headers, up to the transport header. */
#ifndef SL_IP6_BPF_H
#define SL_IP6_BPF_H

#include <linux/bpf.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "view.bpf.h"

#define SL_IP6_MAX_EXT  4 /* extension headers looked through */
#define SL_IP6_MAX_OPTS 8 /* options looked through in one of them */

#define SL_IPPROTO_HOPOPTS  0
#define SL_IPPROTO_ROUTING  43
#define SL_IPPROTO_FRAGMENT 44
#define SL_IPPROTO_DSTOPTS  60

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

#define SL_IP6_OPT_BYTES 0x1ff /* of what sl_ip6_opt() returns */
#define SL_IP6_OPT_DATA  9     /* the bit that tells an option from padding */

/* Returns the bytes of the option at off, with a bit that is set if it is no padding; 0 if it is
 * odd. A function of its own: the verifier checks it once, instead of in each turn of the loop. */
__noinline __u32 sl_ip6_opt(struct sl_ctx *ctx, __u32 off)
{
	struct sl_view p = sl_view(ctx);
	__u8 *opt = sl_at(&p, sl_bounded(off), 8); /* the header behind the last one is as long */

	if (!opt || sl_is_odd_opt6(opt))
		return 0;
	if (!opt[0])
		return 1;
	return (2 + opt[1]) | (opt[0] > 1) << SL_IP6_OPT_DATA;
}

/* Checks the options from off to end. Padding is seven bytes long at most (ip6_parse_tlv() of
 * Linux). Packets with options that the kernel would not skip go to the kernel. */
__noinline int sl_ip6_opts(struct sl_ctx *ctx, __u32 off, __u32 end)
{
	__u32 from = off; /* start of the padding that ends at off */

	for (int i = 0; i < SL_IP6_MAX_OPTS; i++) {
		__u32 opt, data;

		if (off >= end)
			return off == end ? SL_HDR_OK : SL_HDR_UNKNOWN;
		if (off > SL_MAX_L4)
			return SL_HDR_UNKNOWN;
		opt = sl_ip6_opt(ctx, off);
		if (!opt)
			return SL_HDR_UNKNOWN;
		off += opt & SL_IP6_OPT_BYTES;
		data = 0 - (opt >> SL_IP6_OPT_DATA & 1);
		from = (off & data) | (from & ~data); /* without a way of its own */
		if (off - from > 7)
			return SL_HDR_UNKNOWN;
	}
	return off == end ? SL_HDR_OK : SL_HDR_UNKNOWN;
}

static __always_inline int sl_is_ip6_ext(__u32 next)
{
	return next == SL_IPPROTO_HOPOPTS || next == SL_IPPROTO_ROUTING ||
	       next == SL_IPPROTO_DSTOPTS || next == SL_IPPROTO_FRAGMENT;
}

/* Walks the extension headers; next is the type of the first, at off. Hop-by-hop options come first
 * or not at all (RFC 8200 4.1). Routing headers go to the kernel, which has settings for each type.
 * Returns the offset behind the headers << 8 | the protocol found there, or -enum sl_hdr. */
__noinline int sl_ip6_ext(struct sl_ctx *ctx, __u32 off, __u32 next)
{
	struct sl_view p = sl_view(ctx);

	for (int i = 0; i < SL_IP6_MAX_EXT; i++) {
		__u8 *ext;
		__u32 end;

		if (next == SL_IPPROTO_FRAGMENT)
			return -SL_HDR_FRAGMENT;
		if (off > SL_MAX_L4)
			return -SL_HDR_UNKNOWN;
		SL_FORGET(off);
		ext = sl_at(&p, off, 8);
		if (!ext)
			return -SL_HDR_UNKNOWN;
		end = off + 8 + ext[1] * 8;
		if (next == SL_IPPROTO_ROUTING || (next == SL_IPPROTO_HOPOPTS && i) ||
		    sl_ip6_opts(ctx, off + 2, end) != SL_HDR_OK)
			return -SL_HDR_UNKNOWN;
		next = ext[0];
		off = end;
		if (!sl_is_ip6_ext(next))
			return (int)(off << 8 | next);
	}
	return next == SL_IPPROTO_FRAGMENT ? -SL_HDR_FRAGMENT : -SL_HDR_UNKNOWN;
}

static __always_inline int sl_parse_ip6(struct sl_ctx *ctx, struct sl_view *p)
{
	struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));
	int ext;

	if (!ip || ip->version != 6)
		return SL_HDR_UNKNOWN;
	p->v6 = 1;
	p->proto = ip->nexthdr;
	p->l4 = p->l3 + sizeof(*ip);
	if (!sl_is_ip6_ext(p->proto))
		return SL_HDR_OK;
	ext = sl_ip6_ext(ctx, p->l4, p->proto);
	if (ext < 0)
		return -ext;
	p->proto = ext & 0xff;
	p->l4 = (ext >> 8) & 0x3ff; /* for the verifier, which does not look into the function */
	return SL_HDR_OK;
}

#endif
