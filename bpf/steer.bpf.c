/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The steering program: sends packets of claimed flows to the XSK of their lane, passes everything
 * else to the kernel. The maps are described in steer.h. */
#include "parse.bpf.h"
#include <xdp/xdp_helpers.h>

#include "large.bpf.h"
#include "record.bpf.h"
#include "target.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, SL_MAX_XSKS);
	__type(key, __u32);
	__type(value, __u32);
} lanes SEC(".maps");

/* Runs after filters (xdp-filter has 10, the default is 50): packets that they drop never get
 * here. */
struct {
	__uint(priority, 80);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(steer);

/* The packet has a claim: writes its record and sends it to the lane's XSK on this queue. */
static __always_inline int redirect(struct xdp_md *ctx, const struct sl_view *p,
				    const struct target *t, struct sl_counters *c,
				    const struct sl_port_config *cfg)
{
	__u32 lane = t->lane, slot = t->slot, gen = t->gen, flags = t->flags;
	enum match match = veil(t->match, cfg, 3);
	__u32 xsk, vlan;
	__u64 bytes = packet_bytes(ctx, p);
	struct sl_meta meta = {
		.magic = SL_META_MAGIC,
		.proto = p->proto,
		.l3 = p->l3,
		.l4 = p->l4,
	};
	__u32 moved = 0;
	int err;

	asm volatile("" : "+r"(lane), "+r"(slot), "+r"(gen), "+r"(flags)); /* hide their source */
	xsk = lane + ctx->rx_queue_index;
	vlan = SL_CLAIM_VLAN_NR(flags);
	meta.flags = SL_META_VLAN(vlan);
	meta.proto |= sum_state(ctx);
	meta.slot = slot;
	meta.gen = gen;
	if (ctx->rx_queue_index >= cfg->nqueues || cfg->vlans_left >> vlan & 1 ||
	    !bpf_map_lookup_elem(&lanes, &xsk)) {
		c->pass_no_receiver++;
		return XDP_PASS;
	}
	if (bytes > cfg->room) {
		c->pass_large++;
		return XDP_PASS;
	}
	if (flags & SL_CLAIM_STAMP)
		err = put_meta_stamped(ctx, cfg, &meta, &moved);
	else
		err = put_meta(ctx, cfg, &meta, &moved);
	if (err) {
		c->pass_unknown++;
		return XDP_PASS;
	}
	err = bpf_redirect_map(&lanes, xsk, XDP_PASS);
	if (err == XDP_REDIRECT)
		count_redirect(c, match, bytes);
	else if (moved) /* the XSK has gone since the look-up: pass the packet as it came */
		bpf_xdp_adjust_head(ctx, moved);
	return err;
}

/* (The outer headers are off.) */
static __always_inline int redirect_inner(struct xdp_md *ctx, const struct sl_view *p,
					  const struct target *t, struct sl_counters *c,
					  const struct sl_port_config *cfg, __u64 opened)
{
	return redirect(ctx, p, t, c, cfg);
}

SEC("xdp")
int steer(struct xdp_md *ctx)
{
	struct sl_view p = sl_view(ctx);

	make_room();
	return steer_packet(ctx, &p);
}

char _license[] SEC("license") = "Dual BSD/GPL";
