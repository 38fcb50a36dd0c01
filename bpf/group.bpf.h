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

/* The finishing step of murmur3: every bit of the input reaches every bit of the result. */
static __always_inline __u32 mix(__u64 h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

static __always_inline __u32 flow_hash(const struct sl_view *p, enum side ours)
{
	__u64 h = (__u64)p->src_port << 32 | (__u32)p->dst_port << 16 | p->proto;
	__u32 src[4], dst[4];

	if (load_remote(p, ours, src) || load_local(p, ours, dst))
		return 0;
	h = h * 31 + ((__u64)src[0] << 32 | src[1]);
	h = h * 31 + ((__u64)src[2] << 32 | src[3]);
	h = h * 31 + ((__u64)dst[0] << 32 | dst[1]);
	h = h * 31 + ((__u64)dst[2] << 32 | dst[3]);
	return mix(h);
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
static __always_inline int kernel_has(struct xdp_md *ctx, const struct sl_view *p, enum side ours,
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

/* For a packet to a shared TCP endpoint: the target that got the flow's SYN. NULL: the kernel's,
 * which listens, too, and has a connection of this flow (it may have listened alone before). If
 * that target has left the group, the packet goes to another, which takes a SYN and resets anything
 * else; a process that leaves in order claims its flows first, so that their packets are not looked
 * up here. A SYN repeated to a target that is away and has not answered goes to another target,
 * too. */
static __always_inline struct sl_claim *pick_tcp(struct xdp_md *ctx, const struct sl_view *p,
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
