/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Steers what vxlan_open4() or vxlan_open6() has taken out of VXLAN. Part of target.bpf.h. */
#ifndef SL_STEER_VXLAN_BPF_H
#define SL_STEER_VXLAN_BPF_H

/* The target of the inner frame, between the functions that find it and send it: each has a stack
 * of its own (steer_icmp() says why). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct target);
} inner SEC(".maps");

/* Where the inner frame begins: with XDP it is the frame now. */
static __always_inline __u32 begin_of(__u64 opened)
{
#ifdef SL_SKB
	return opened >> 49 & 1 ? SL_VXLAN_BYTES6 : SL_VXLAN_BYTES4;
#else
	return 0;
#endif
}

/* The inner frame, as vxlan_open4() or vxlan_open6() has found it. */
static __always_inline struct sl_view view_of(struct sl_ctx *ctx, __u64 opened)
{
	struct sl_view p = sl_view(ctx);

	p.l3 = begin_of(opened) + ETH_HLEN;
	p.l4 = begin_of(opened) + (opened >> 32 & 0x7f);
	p.proto = opened >> 40;
	p.v6 = opened >> 48 & 1;
	p.vlan = opened;
	return p;
}

static __always_inline int load_ports(struct sl_view *p)
{
	struct udphdr *l4 = sl_at(p, p->l4, sizeof(*l4));

	if (!l4)
		return -1;
	p->src_port = bpf_ntohs(l4->source);
	p->dst_port = bpf_ntohs(l4->dest);
	return 0;
}

/* Finds the claim of the inner frame, for send_inner(). Returns the packet as pick() is told of it;
 * 0: it has none. */
__noinline __u64 find_inner(struct sl_ctx *ctx, __u64 opened)
{
	struct sl_view p = view_of(ctx, opened);
	enum match match = MATCH_NONE;
	struct sl_claim *claim;
	struct target *t;
	__u32 key = 0;
	__u8 *mac;

	if (!has_vxlan || load_ports(&p) || has_odd_source(&p))
		return 0;
	mac = sl_at(&p, p.l3 - ETH_HLEN, ETH_HLEN);
	if (!mac || (*mac & 1 && !is_to_group(&p)))
		return 0;
	claim = find_claim(&p, OUR_DST, SL_L4_PORT_CLAIMED, &match);
	t = bpf_map_lookup_elem(&inner, &key);
	if (!claim || !t || claim->flags & SL_CLAIM_PASS)
		return 0;
	*t = target_of(claim, match & 3);
	return pack_view(&p, OUR_DST);
}

/* Sends the inner frame to the target found; to: of a group, its number, counted from 1. */
__noinline int send_inner(struct sl_ctx *ctx, __u64 opened, __u32 to)
{
	struct sl_view p = view_of(ctx, opened);
	struct sl_port_config *cfg;
	struct sl_claim *claim;
	struct sl_counters *c;
	struct sl_group *g;
	struct target *t, was;
	__u32 key = 0;

	c = bpf_map_lookup_elem(&counters, &key);
	cfg = bpf_map_lookup_elem(&config, &key);
	t = bpf_map_lookup_elem(&inner, &key);
	if (!has_vxlan || !c || !cfg || !t)
		return SL_PASS;
	was = *t;
	if (to) {
		g = bpf_map_lookup_elem(&groups, &was.slot);
		claim = g ? target_at(g, to) : 0;
		if (!claim)
			return SL_PASS;
		was = target_of(claim, was.match);
	}
	return redirect_inner(ctx, &p, &was, c, cfg, opened);
}

static __always_inline int steer_opened(struct sl_ctx *ctx, __u64 opened)
{
	__u64 packed = find_inner(ctx, opened);
	struct target *t;
	__u32 key = 0, to = 0;

	t = bpf_map_lookup_elem(&inner, &key);
	if (!packed || !t)
		return SL_PASS;
	if (t->flags & SL_CLAIM_GROUP) {
		if (!has_groups)
			return SL_PASS;
		to = pick(ctx, packed, opened, t->slot);
		if (!to)
			return SL_PASS;
	}
	return send_inner(ctx, opened, to);
}

/* Steers a packet to the port of a VXLAN device. */
static __always_inline int steer_vxlan(struct sl_ctx *ctx, const struct sl_view *p,
				       const struct sl_port_config *cfg, struct sl_counters *c)
{
	int v6 = p->v6, verdict;
	__u64 opened = 0;

	if (!p->vlan && p->l3 == ETH_HLEN && !cfg->in_frame) {
		if (v6 && p->l4 == ETH_HLEN + sizeof(struct ipv6hdr))
			opened = vxlan_open6(ctx);
		else if (!v6 && p->l4 == ETH_HLEN + sizeof(struct iphdr))
			opened = vxlan_open4(ctx);
	}
	if (!opened) {
		c->pass_miss++;
		return SL_PASS;
	}
	verdict = steer_opened(ctx, opened);
#ifndef SL_SKB
	if (verdict != XDP_PASS)
		return verdict;
	/* The XSK has gone since the look-up, and the record lies over the outer headers. */
	if ((void *)(long)ctx->data_meta < (void *)(long)ctx->data)
		return XDP_DROP;
	if (bpf_xdp_adjust_head(ctx, v6 ? -SL_VXLAN_BYTES6 : -SL_VXLAN_BYTES4))
		return XDP_DROP;
#endif
	return verdict;
}

#endif
