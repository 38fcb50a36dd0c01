/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Steers a packet: all that the steering programs, for XDP and for tc, have in common. */
#ifndef SL_TARGET_BPF_H
#define SL_TARGET_BPF_H

#include "parse.bpf.h"

#include "find.bpf.h"
#include "group.bpf.h"
#include "hints.bpf.h"
#include "icmp.bpf.h"
#include "martian.bpf.h"
#include "recent.bpf.h"
#include "veil.bpf.h"
#include "vxlan.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_RULES + 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_PACES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_pace_rule);
} paces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_port_config);
} config SEC(".maps");

static __always_inline void count_redirect(struct sl_counters *c, enum match match, __u64 bytes)
{
	if (match == MATCH_FLOW)
		c->redirect_flow++;
	else if (match == MATCH_ENDPOINT)
		c->redirect_endpoint++;
	else
		c->redirect_wildcard++;
	c->redirect_bytes += bytes;
}

/* The part of a claim that redirect() needs. */
struct target {
	__u32 lane, slot, gen, flags;
	enum match match;
};

static __always_inline struct target target_of(const struct sl_claim *c, enum match match)
{
	return (struct target){c->lane, c->slot, c->gen, c->flags, match};
}

/* Sends a packet that has a claim to its lane. Each program has its own way. */
static __always_inline int redirect(struct sl_ctx *ctx, const struct sl_view *p,
				    const struct target *t, struct sl_counters *c,
				    const struct sl_port_config *cfg);

/* Does the same for a packet in VXLAN; opened: the result of vxlan_open4() or vxlan_open6(). */
static __always_inline int redirect_inner(struct sl_ctx *ctx, const struct sl_view *p,
					  const struct target *t, struct sl_counters *c,
					  const struct sl_port_config *cfg, __u64 opened);

/* The claim of the packet; NULL: the packet is the kernel's. */
static __always_inline struct sl_claim *whose(struct sl_ctx *ctx, struct sl_view *p, enum side ours,
					      __u32 bits, const struct sl_port_config *cfg,
					      enum match *match)
{
	struct sl_claim *claim = find_claim(p, ours, bits, match);
	struct sl_group *g;
	__u32 group;

	if (!claim || !(claim->flags & (SL_CLAIM_GROUP | SL_CLAIM_PASS)))
		return claim;
	if (claim->flags & SL_CLAIM_PASS || !has_groups)
		return 0;
	group = claim->slot;
	*match |= MATCH_GROUP;
	g = bpf_map_lookup_elem(&groups, &group);
	return g ? target_at(g, pick(ctx, pack_view(p, ours), p->vlan, group)) : 0;
}

static __always_inline void remember(struct sl_recent *r, const struct sl_recent_key *key,
				     const struct target *t)
{
	r->key = *key;
	r->lane_match = t->lane << 2 | t->match;
	r->slot = t->slot;
	r->gen = t->gen;
	r->flags = t->flags;
}

/* Notes in the claim of a TCP flow that its peer has acknowledged something: a flow that was
 * claimed in advance has no such peer. (A SYN with an ACK may answer another program's SYN.) Zero:
 * the next packet has to be looked at, too. */
static __always_inline int hear(const struct sl_view *p, struct sl_claim *claim, enum match match)
{
	struct tcphdr *tcp;

	if (match != MATCH_FLOW || p->proto != IPPROTO_TCP || claim->flags & SL_CLAIM_HEARD)
		return 1;
	tcp = sl_at(p, p->l4, sizeof(*tcp));
	if (!tcp || !tcp->ack || tcp->syn || tcp->rst)
		return 0;
	claim->flags |= SL_CLAIM_HEARD;
	return 1;
}

/* Finds the claim of a packet that arrived, in `recent` or in the maps. Nonzero: it has none. */
static __always_inline int find_target(struct sl_ctx *ctx, struct sl_view *p, __u64 word,
				       const struct sl_port_config *cfg, struct target *t)
{
	struct sl_recent_key key;
	enum match match = MATCH_NONE;
	struct sl_claim *claim;
	struct sl_recent *r;

	r = recent_key(p, word, &key) ? 0 : recent_at(&key);
	if (!r)
		return -1;
	if (is_recent(r, &key)) {
		*t = (struct target){r->lane_match >> 2, r->slot, r->gen, r->flags,
				     r->lane_match & 3};
		return 0;
	}
	if (has_odd_ends(ctx, p->l3, p->v6))
		return -1;
	veil_all(ctx, p, cfg);
	claim = whose(ctx, p, OUR_DST, word, cfg, &match);
	if (!claim)
		return -1;
	match = veil(match, cfg, MATCH_GROUP | 3);
	*t = target_of(claim, match & 3);
	if (hear(p, claim, match) && !(match & MATCH_GROUP) && !cfg->forgets)
		remember(r, &key, t);
	return 0;
}

#include "steer_vxlan.bpf.h"

/* Steers a packet to a port for which a look-up can succeed. */
static __always_inline int steer_port(struct sl_ctx *ctx, struct sl_view *p, __u64 word,
				      struct sl_counters *c)
{
	struct sl_port_config *cfg;
	struct target t;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		goto miss;
	sl_view_again(ctx, p);
	p->proto = veil(p->proto, cfg, 0xff);
	if (!is_for_us(p, cfg) || has_odd_source(p))
		goto miss;
	sl_view_again(ctx, p); /* (the looks at the addresses told the versions apart) */
	p->v6 = veil(p->v6, cfg, 1);
	if (add_hidden_tag(ctx, p))
		goto miss;
	veil_tag(p, cfg, 0x1f);
	if (has_vxlan && word & SL_L4_PORT_VXLAN)
		return steer_vxlan(ctx, p, cfg, c);
	if (find_target(ctx, p, word, cfg, &t))
		goto miss;
	return redirect(ctx, p, &t, c, cfg);
miss:
	c->pass_miss++;
	return SL_PASS;
}

#include "steer_icmp.bpf.h"

/* Steers a packet whose headers are not read yet. */
static __always_inline int steer_packet(struct sl_ctx *ctx, struct sl_view *p)
{
	struct sl_counters *c;
	__u32 key = 0;
	__u64 *at, word;

	c = bpf_map_lookup_elem(&counters, &key);
	if (!c)
		return SL_PASS;
	switch (sl_parse(ctx, p)) {
	case SL_HDR_OK:
		break;
	case SL_HDR_NOT_IP:
		c->pass_not_ip++;
		return SL_PASS;
	case SL_HDR_FRAGMENT:
		c->pass_fragment++;
		return SL_PASS;
	case SL_HDR_ICMP:
		return steer_any_icmp(ctx, p);
	default:
		c->pass_unknown++;
		return SL_PASS;
	}
	key = p->dst_port + (p->proto == IPPROTO_TCP ? 65536 : 0);
	at = bpf_map_lookup_elem(&ports, &key);
	word = at ? *(volatile __u64 *)at : 0; /* read before the look-ups that rely on it */
	if (word & SL_L4_PORT_BITS)
		return steer_port(ctx, p, word, c);
	c->pass_miss++;
	return SL_PASS;
}

#endif
