/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the verifier is not to know. */
#ifndef SL_VEIL_BPF_H
#define SL_VEIL_BPF_H

#include "parse.bpf.h"

/* The verifier goes through all that follows anew for each way that leads to it, unless it knows
 * the same of all of them: of what is behind the veil it knows mask alone. (A call of a global
 * function does that, too, and costs a packet ten nanoseconds.) */
static __always_inline __u32 veil(__u32 x, const struct sl_port_config *cfg, __u32 mask)
{
	__u32 nought = cfg->nought;

	asm volatile("%0 ^= %1" : "+r"(x) : "r"(nought));
	return x & mask;
}

/* A dozen ways lead out of the parser. */
static __always_inline void veil_all(struct xdp_md *ctx, struct sl_pkt *p,
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

#endif
