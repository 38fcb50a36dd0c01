/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The IPv4 header and its options, up to the transport header. */
#ifndef SL_IP4_BPF_H
#define SL_IP4_BPF_H

#include <linux/bpf.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "view.bpf.h"

/* Accepts options that change nothing for the receiver and that it need not write to: end,
 * no-operation, router alert (148). Any other goes to the kernel, which drops malformed ones. */
__noinline int sl_ip4_opts(struct sl_ctx *ctx, __u32 off, __u32 end)
{
	struct sl_view p = sl_view(ctx);

	for (int i = 0; i < 40; i++) {
		__u32 len = 1;
		__u8 *opt;

		if (off >= end)
			return SL_HDR_OK;
		if (off > SL_MAX_L4)
			return SL_HDR_UNKNOWN;
		SL_FORGET(off);
		opt = sl_at(&p, off, 2); /* a transport header follows: two bytes are there */
		if (!opt)
			return SL_HDR_UNKNOWN;
		if (opt[0] == 0)
			return SL_HDR_OK;
		if (opt[0] != 1) {
			len = opt[1];
			if (opt[0] != 148 || len != 4)
				return SL_HDR_UNKNOWN;
		}
		off += len;
		SL_FORGET_MORE(off);
		if (off > end)
			return SL_HDR_UNKNOWN;
	}
	return off == end ? SL_HDR_OK : SL_HDR_UNKNOWN;
}

static __always_inline int sl_parse_ip4(struct sl_ctx *ctx, struct sl_view *p)
{
	struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));
	__u32 len;

	if (!ip || ip->version != 4)
		return SL_HDR_UNKNOWN;
	len = ip->ihl * 4;
	if (len < sizeof(*ip))
		return SL_HDR_UNKNOWN;
	if (ip->frag_off & bpf_htons(0x3fff)) /* more fragments, or an offset */
		return SL_HDR_FRAGMENT;
	p->v6 = 0;
	p->proto = ip->protocol;
	p->l4 = p->l3 + len;
	if (len == sizeof(*ip))
		return SL_HDR_OK;
	return sl_ip4_opts(ctx, p->l3 + sizeof(*ip), p->l4);
}

#endif
