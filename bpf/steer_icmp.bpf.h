/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Steers ICMP messages: a part of target.bpf.h, which includes it behind what it uses. */
#ifndef SL_STEER_ICMP_BPF_H
#define SL_STEER_ICMP_BPF_H

/* The segment of ours that an ICMP error quotes. Nonzero: none. */
static __always_inline int quoted(struct sl_ctx *ctx, struct sl_view *p, struct sl_view *inner)
{
	if (add_hidden_tag(ctx, p))
		return -1;
	*inner = *p;
	inner->l3 = p->l4 + ICMP_LEN;
	return parse_inner(inner);
}

/* The claim of the segment of ours that an ICMP error is about, or NULL. */
static __always_inline struct sl_claim *whose_error(struct sl_ctx *ctx, struct sl_view *p,
						    const struct sl_port_config *cfg,
						    enum match *match)
{
	struct sl_claim *claim;
	struct sl_view inner;
	__u64 *bits;
	__u32 key;

	if (!is_for_us(p, cfg) || !is_icmp_error(p) || has_odd_ends(ctx, p->l3, p->v6) ||
	    quoted(ctx, p, &inner))
		return 0;
	veil_tag(&inner, cfg, 0x3ff);
	inner.v6 = veil(p->v6, cfg, 1);
	key = 65536 + inner.dst_port;
	bits = bpf_map_lookup_elem(&ports, &key);
	if (!bits || !(*bits & SL_L4_PORT_BITS))
		return 0;
	claim = find_claim(&inner, OUR_SRC, *bits, match);
	return claim && !(claim->flags & SL_CLAIM_PASS) ? claim : 0;
}

/* The verdict of steer_icmp() on an error that concerns a group: with the group's number below it
 * and the match above it. No program has a verdict as large. */
#define SL_FOR_GROUP   0x10000u
#define SL_GROUP_OF(x) ((x)&0xffff)
#define SL_GROUP_MATCH 20
_Static_assert(SL_MAX_GROUPS <= SL_FOR_GROUP, "a group's number fits below");

static __always_inline struct sl_view icmp_view(struct sl_ctx *ctx, __u32 l3, __u32 l4, __u32 vlan,
						__u32 v6)
{
	struct sl_view p = sl_view(ctx);

	p.l3 = sl_bounded(l3);
	p.l4 = sl_bounded(l4);
	p.vlan = vlan;
	p.v6 = v6;
	p.proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	return p;
}

/* Steers an ICMP message, but for an error that concerns a group (SL_FOR_GROUP). The kernel holds
 * no connection that an error about a claimed segment could be for, so user space gets it. A global
 * function, as the walks over options and headers are (view.bpf.h). Keep its stack and that of
 * steer_group_icmp() small: Linux 6.1 rounds the stack of each function up to 32 bytes, and allows
 * 512 for all that are active at once (test_steer.c). */
__noinline int steer_icmp(struct sl_ctx *ctx, __u32 l3, __u32 l4, __u32 vlan, __u32 v6)
{
	struct sl_view p = icmp_view(ctx, l3, l4, vlan, v6);
	enum match match = MATCH_NONE;
	struct sl_port_config *cfg;
	struct sl_counters *c;
	struct sl_claim *claim;
	struct target t;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		return SL_PASS;
	claim = whose_error(ctx, &p, cfg, &match);
	if (claim && claim->flags & SL_CLAIM_GROUP && !has_groups)
		return SL_PASS;
	if (claim && claim->flags & SL_CLAIM_GROUP)
		return SL_FOR_GROUP | match << SL_GROUP_MATCH | SL_GROUP_OF(claim->slot);
	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c)
		return SL_PASS;
	if (claim) {
		t = target_of(claim, match & 3);
		return redirect(ctx, &p, &t, c, cfg);
	}
	c->pass_unknown++;
	return SL_PASS;
}

/* Steers an ICMP error that concerns a group: the second part of steer_icmp(), which gives it what
 * it found. A function of its own, since pick() needs stack, too. */
__noinline int steer_group_icmp(struct sl_ctx *ctx, __u64 outer, __u32 vlan, __u32 found)
{
	struct sl_view p = icmp_view(ctx, outer, outer >> 10, vlan, outer >> 20 & 1), inner;
	__u32 group = SL_GROUP_OF(found), zero = 0, n = 0;
	struct sl_port_config *cfg;
	struct sl_claim *claim = 0;
	struct sl_counters *c;
	struct sl_group *g;
	struct target t;

	if (!quoted(ctx, &p, &inner))
		n = pick(ctx, pack_view(&inner, OUR_SRC), inner.vlan, group);
	c = bpf_map_lookup_elem(&counters, &zero);
	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!c || !cfg)
		return SL_PASS;
	g = bpf_map_lookup_elem(&groups, &group);
	if (g)
		claim = target_at(g, n);
	if (!claim) {
		c->pass_unknown++;
		return SL_PASS;
	}
	t = target_of(claim, found >> SL_GROUP_MATCH & 3);
	return redirect(ctx, &p, &t, c, cfg);
}

static __always_inline int steer_any_icmp(struct sl_ctx *ctx, const struct sl_view *p)
{
	int verdict = steer_icmp(ctx, p->l3, p->l4, p->vlan, p->v6);

	if (has_groups && (__u32)verdict >> 16 & 1 && verdict > 0)
		return steer_group_icmp(ctx, pack_view(p, OUR_DST), p->vlan, verdict);
	return verdict;
}

#endif
