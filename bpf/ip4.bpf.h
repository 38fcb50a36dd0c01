/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The IPv4 header and its options, up to the transport header. */
#ifndef SL_IP4_BPF_H
#define SL_IP4_BPF_H

#include <linux/bpf.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "view.bpf.h"

#define SL_IP4_OPTS_END 0x80 /* the list of options ends here */

/* Returns the bytes of the options at off: at most four no-operations and a router alert behind
 * them, so that four bytes of them are passed at least unless they end there. Or SL_IP4_OPTS_END; 0
 * if the first is odd. A function of its own: the verifier checks it once, instead of in each turn
 * of the loop. */
__noinline __u32 sl_ip4_opt(struct sl_ctx *ctx, __u32 off, __u32 end)
{
	struct sl_view p = sl_view(ctx);
	__u8 *opt = sl_at(&p, sl_bounded(off), 8); /* a transport header follows, as long as that */
	__u32 n = 0, left = end - off;

	if (!opt)
		return 0;
	while (n < 4 && n < left && opt[n] == 1)
		n++;
	if (n == 4 || n == left)
		return n;
	if (opt[n] == 0)
		return SL_IP4_OPTS_END;
	return opt[n] == 148 && opt[n + 1] == 4 ? n + 4 : n;
}

/* Accepts options that change nothing for the receiver and that it need not write to: end,
 * no-operation, router alert (148). Any other goes to the kernel, which drops malformed ones. */
__noinline int sl_ip4_opts(struct sl_ctx *ctx, __u32 off, __u32 end)
{
	for (int i = 0; i < 10 && off < end; i++) {
		__u32 bytes = sl_ip4_opt(ctx, off, end);

		if (!bytes)
			return SL_HDR_UNKNOWN;
		if (bytes == SL_IP4_OPTS_END)
			return SL_HDR_OK;
		off += bytes;
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
