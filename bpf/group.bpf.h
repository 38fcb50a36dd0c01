/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Picks the socket that gets a packet, for endpoints that several sockets share. */
#ifndef SL_GROUP_BPF_H
#define SL_GROUP_BPF_H

#include "find.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_GROUPS);
	__type(key, __u32);
	__type(value, struct sl_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SL_MAX_PICKED);
	__type(key, struct sl_flow_key);
	__type(value, struct sl_claim);
} picked SEC(".maps");

/* Random; set before the program is loaded. */
#define SL_HASH_KEYS 10
const volatile __u64 hash_key[SL_HASH_KEYS] = {
	0x9e3779b97f4a7c15, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53, 0xbf58476d1ce4e5b9,
	0x94d049bb133111eb, 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
	0x8ebc6af09c88c6e3, 0x589965cc75374cc3};

/* Multilinear, strongly universal: without the key no peer can choose flows that all go to one
 * socket. (lib/base/hash.h is of the same kind.) */
static __always_inline __u32 flow_hash(const struct sl_view *p, enum side ours)
{
	__u64 h = hash_key[0] + hash_key[1] * ((__u32)p->src_port << 16 | p->dst_port);
	const __be32 *src, *dst;

	if (!p->v6) {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return 0;
		h += hash_key[2] * (ours == OUR_DST ? ip->saddr : ip->daddr);
		h += hash_key[3] * (ours == OUR_DST ? ip->daddr : ip->saddr);
	} else {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return 0;
		src = ours == OUR_DST ? (__be32 *)&ip->saddr : (__be32 *)&ip->daddr;
		dst = ours == OUR_DST ? (__be32 *)&ip->daddr : (__be32 *)&ip->saddr;
		h += hash_key[2] * src[0] + hash_key[3] * dst[0];
		h += hash_key[4] * src[1] + hash_key[5] * dst[1];
		h += hash_key[6] * src[2] + hash_key[7] * dst[2];
		h += hash_key[8] * src[3] + hash_key[9] * dst[3];
	}
	return h >> 32;
}

static __always_inline struct sl_claim *pick_target(__u32 group, __u32 hash)
{
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);
	__u32 i;

	if (!g || !g->open)
		return 0;
	i = ((__u64)hash * g->open) >> 32;
	__asm__ volatile("" : "+r"(i)); /* the verifier must see what is compared */
	if (i >= SL_GROUP_TARGETS)
		return 0;
	return &g->target[i];
}

/* Global, so that the verifier walks the loop once. 0: no target of the group; 1: a target; 2: a
 * target that is away: it keeps its connections and gets no new one. */
__noinline int is_target(__u32 group, __u32 slot, __u32 gen, __u32 pid)
{
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);

	for (__u32 i = 0; g && i < SL_GROUP_TARGETS && i < g->count; i++)
		if (!((g->target[i].slot ^ slot) | (g->target[i].gen ^ gen) |
		      (g->target[i].pid ^ pid)))
			return i < g->open ? 1 : 2;
	return 0;
}

/* True: the packet is the first segment of a handshake. */
static __always_inline int is_syn(const struct sl_view *p)
{
	struct tcphdr *tcp = sl_at(p, p->l4, sizeof(*tcp));

	return tcp && tcp->syn && !tcp->ack && !tcp->rst;
}

/* Fills in the flow for the kernel's socket look-up. Returns the tuple's size for this IP version,
 * 0 if the headers are not there. */
static __always_inline __u32 load_tuple(const struct sl_view *p, enum side ours,
					struct bpf_sock_tuple *t)
{
	__u32 a[4];

	if (p->v6) {
		if (load_remote(p, ours, t->ipv6.saddr) || load_local(p, ours, t->ipv6.daddr))
			return 0;
		t->ipv6.sport = bpf_htons(p->src_port);
		t->ipv6.dport = bpf_htons(p->dst_port);
		return sizeof(t->ipv6);
	}
	if (load_remote(p, ours, a))
		return 0;
	t->ipv4.saddr = a[3];
	if (load_local(p, ours, a))
		return 0;
	t->ipv4.daddr = a[3];
	t->ipv4.sport = bpf_htons(p->src_port);
	t->ipv4.dport = bpf_htons(p->dst_port);
	return sizeof(t->ipv4);
}

/* True: the kernel has a connection of this flow, or the beginning of one. A connection in
 * TIME_WAIT does not count against a SYN, which may replace it. */
static __always_inline int kernel_has(struct sl_ctx *ctx, const struct sl_view *p, enum side ours,
				      int syn)
{
	struct bpf_sock_tuple t = {};
	__u32 size = load_tuple(p, ours, &t), state;
	struct bpf_sock *sk;

	if (!size)
		return 0;
	sk = bpf_skc_lookup_tcp(ctx, &t, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return 0;
	state = sk->state;
	bpf_sk_release(sk);
	return state != BPF_TCP_LISTEN && state != BPF_TCP_CLOSE &&
	       !(syn && state == BPF_TCP_TIME_WAIT);
}

/* The target that this flow was sent to before. Its key is built here and again in
 * remember_picked(): kept in between, it would lie on the stack beside the tuple of kernel_has()
 * (steer_icmp() says how little stack there is). */
static __always_inline struct sl_claim *find_picked(const struct sl_view *p, enum side ours)
{
	struct sl_flow_key key;

	return load_flow(p, ours, &key) ? 0 : bpf_map_lookup_elem(&picked, &key);
}

static __always_inline void remember_picked(const struct sl_view *p, enum side ours,
					    const struct sl_claim *target)
{
	struct sl_flow_key key;

	if (!load_flow(p, ours, &key))
		bpf_map_update_elem(&picked, &key, target, BPF_ANY);
}

/* For a packet to a shared TCP endpoint: the target that got the flow's SYN. NULL: the packet is
 * the kernel's. The kernel listens on the endpoint, too (and may have listened alone before), and
 * has a connection of this flow. If the target that got the SYN has left the group, the packet goes
 * to another, which takes a SYN and resets anything else; a process that leaves in order claims its
 * flows first, so their packets are not looked up here. A repeated SYN goes to another target, too,
 * if the first target is away and has not answered. */
static __always_inline struct sl_claim *pick_tcp(struct sl_ctx *ctx, const struct sl_view *p,
						 enum side ours, __u32 group)
{
	int syn = ours == OUR_DST && is_syn(p);
	struct sl_claim *had = find_picked(p, ours), *now;
	int is = 0;

	if (had)
		is = is_target(group, had->slot, had->gen, had->pid);
	if (is == 1 || (is && !syn))
		return had;
	if (kernel_has(ctx, p, ours, syn))
		return 0;
	now = pick_target(group, flow_hash(p, ours));
	if (now && syn)
		remember_picked(p, ours, now);
	return now;
}

#endif
