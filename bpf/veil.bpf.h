/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Hides values from the verifier. */
#ifndef SL_VEIL_BPF_H
#define SL_VEIL_BPF_H

#include "parse.bpf.h"

/* Hides x from the verifier, which then knows only that x is within mask. The verifier checks all
 * code that follows once for each path that leads there, unless it knows the same on all of them.
 * (A call of a global function hides as well, but costs a packet ten nanoseconds.) */
static __always_inline __u32 veil(__u32 x, const struct sl_port_config *cfg, __u32 mask)
{
	__u32 nought = cfg->nought;

	asm volatile("%0 ^= %1" : "+r"(x) : "r"(nought));
	return x & mask;
}

/* Hides the results of the parser: a dozen paths lead out of it. */
static __always_inline void veil_all(struct sl_ctx *ctx, struct sl_view *p,
				     const struct sl_port_config *cfg)
{
	p->data = (void *)(long)ctx->data;
	p->data_end = (void *)(long)ctx->data_end;
	p->l3 = veil(p->l3, cfg, 0x1f);
	p->l4 = veil(p->l4, cfg, 0x1ff);
	p->vlan = veil(p->vlan, cfg, ~0u);
	p->proto = veil(p->proto, cfg, 0xff);
	p->v6 = veil(p->v6, cfg, 1);
}

/* Hides the results of add_hidden_tag(), which tells apart where the IP header is; l3_mask bounds
 * that. */
static __always_inline void veil_tag(struct sl_view *p, const struct sl_port_config *cfg,
				     __u32 l3_mask)
{
#if defined(SL_BOUND) || defined(SL_SKB)
	p->l3 = veil(p->l3, cfg, l3_mask);
	p->vlan = veil(p->vlan, cfg, ~0u);
	p->v6 = veil(p->v6, cfg, 1);
#endif
}

#endif
