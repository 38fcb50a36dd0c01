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

	asm volatile("" : "+r"(lane), "+r"(slot), "+r"(gen), "+r"(flags)); /* of any map */
	xsk = lane + ctx->rx_queue_index;
	vlan = SL_CLAIM_VLAN_NR(flags);
	meta.flags = SL_META_VLAN(vlan);
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
	else if (moved) /* the XSK went after the look-up: pass what came */
		bpf_xdp_adjust_head(ctx, moved);
	return err;
}

/* Steers a packet to a port for which a look-up can succeed. */
static __always_inline int steer_port(struct xdp_md *ctx, struct sl_view *p, __u64 word,
				      struct sl_counters *c)
{
	struct sl_port_config *cfg;
	struct target t;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		goto miss;
	veil_all(ctx, p, cfg);
	if (!is_for_us(p, cfg) || has_odd_source(p) || add_hidden_tag(ctx, p) ||
	    find_target(ctx, p, word, cfg, &t))
		goto miss;
	return redirect(ctx, p, &t, c, cfg);
miss:
	c->pass_miss++;
	return XDP_PASS;
}

/* Steers an ICMP message. The kernel holds no connection that an error about a claimed segment
 * could be for, so user space gets it. Global as the walks of parse.bpf.h are. Keep its stack
 * small: steer() and is_target() have theirs at the same time, Linux 6.1 rounds each up to 32
 * bytes, and allows 512 for all three (test_steer.c). */
__noinline int steer_icmp(struct xdp_md *ctx, __u32 l3, __u32 l4, __u32 vlan, __u32 v6)
{
	struct sl_view p = sl_view(ctx);
	enum match match = MATCH_NONE;
	struct sl_port_config *cfg;
	struct sl_counters *c;
	struct sl_claim *claim;
	struct target t;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		return XDP_PASS;
	p.l3 = sl_bounded(l3);
	p.l4 = sl_bounded(l4);
	p.vlan = vlan;
	p.v6 = v6;
	p.proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	claim = whose_error(ctx, &p, cfg, &match);
	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c)
		return XDP_PASS;
	if (claim) {
		t = target_of(claim, match & 3);
		return redirect(ctx, &p, &t, c, cfg);
	}
	c->pass_unknown++;
	return XDP_PASS;
}

SEC("xdp")
int steer(struct xdp_md *ctx)
{
	struct sl_view p = sl_view(ctx);
	struct sl_counters *c;
	__u32 key = 0;
	__u64 *at, word;

	make_room();
	c = bpf_map_lookup_elem(&counters, &key);
	if (!c)
		return XDP_PASS;
	switch (sl_parse(ctx, &p)) {
	case SL_HDR_OK:
		break;
	case SL_HDR_NOT_IP:
		c->pass_not_ip++;
		return XDP_PASS;
	case SL_HDR_FRAGMENT:
		c->pass_fragment++;
		return XDP_PASS;
	case SL_HDR_ICMP:
		return steer_icmp(ctx, p.l3, p.l4, p.vlan, p.v6);
	default:
		c->pass_unknown++;
		return XDP_PASS;
	}
	key = p.dst_port + (p.proto == IPPROTO_TCP ? 65536 : 0);
	at = bpf_map_lookup_elem(&ports, &key);
	word = at ? *(volatile __u64 *)at : 0; /* read before the look-ups that rely on it */
	if (word & SL_L4_PORT_BITS)
		return steer_port(ctx, &p, word, c);
	c->pass_miss++;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
