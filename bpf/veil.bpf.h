/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Hides values from the verifier. */
#ifndef SL_VEIL_BPF_H
#define SL_VEIL_BPF_H

#include "parse.bpf.h"

/* sl_veil(), where a port's configuration is at hand. */
static __always_inline __u32 veil(__u32 x, const struct sl_port_config *cfg, __u32 mask)
{
	return sl_veil(x, cfg->nought, mask);
}

/* Hides what was found in the headers: several paths lead to the look-ups in the maps. */
static __always_inline void veil_all(struct sl_ctx *ctx, struct sl_view *p,
				     const struct sl_port_config *cfg)
{
	sl_view_again(ctx, p);
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
#endif
}

#endif
