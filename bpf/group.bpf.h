/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Picks the socket that gets a packet, for endpoints that several sockets share. */
#ifndef SL_GROUP_BPF_H
#define SL_GROUP_BPF_H

#include "find.bpf.h"
#include "picked.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_GROUPS);
	__type(key, __u32);
	__type(value, struct sl_group);
} groups SEC(".maps");

/* Without groups the verifier does not look at what is about them; set before the program is
 * loaded.
 */
const volatile __u8 has_groups = 1;

/* Random; set before the program is loaded. */
const volatile __u64 hash_key[SL_HASH_KEYS] = {
	0x9e3779b97f4a7c15, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53, 0xbf58476d1ce4e5b9,
	0x94d049bb133111eb, 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
	0x8ebc6af09c88c6e3, 0x589965cc75374cc3};

/* Multilinear, strongly universal: without the key no peer can choose flows that all go to one
 * socket. (lib/base/hash.h is of the same kind, and says why the last multiplication is there.) Ten
 * multiplications, which only groups pay for. */
static __always_inline __u32 flow_hash(const struct sl_flow_key *key)
{
	const __u32 *local = (const __u32 *)key->local, *remote = (const __u32 *)key->remote;
	__u64 h = hash_key[0] + hash_key[1] * ((__u32)key->remote_port << 16 | key->local_port);

#pragma unroll
	for (int i = 0; i < 4; i++) {
		h += hash_key[2 + 2 * i] * remote[i];
		h += hash_key[3 + 2 * i] * local[i];
		/* Step by step: all at once they would need a hundred bytes of stack. */
		asm volatile("" : "+r"(h) : "r"(key) : "memory");
	}
	return ((h ^ h >> 32) * 0x9fb21c651e98df25) >> 32;
}

/* The target with that number, counted from 1, or NULL. */
static __always_inline struct sl_claim *target_at(struct sl_group *g, __u32 number)
{
	__u32 i = number - 1;

	__asm__ volatile("" : "+r"(i)); /* the verifier must see what is compared */
	if (i >= SL_GROUP_TARGETS)
		return 0;
	__asm__ volatile("" : "+r"(i)); /* and no sum before that */
	return &g->target[i];
}

/* The number of the target that the hash chooses, counted from 1; 0: the group is empty. */
static __always_inline __u32 choose(const struct sl_group *g, __u32 hash)
{
	__u32 open = g->open;

	return open ? (__u32)(((__u64)hash * open) >> 32) + 1 : 0;
}

#define SL_TARGET_AWAY 0x100 /* the target keeps its connections and gets no new one */

/* Global, so that the verifier walks the loop once. Returns the number of the target in the group,
 * counted from 1, with SL_TARGET_AWAY; 0: it is none of the group. */
__noinline __u32 find_member(__u32 group, __u32 slot, __u32 gen, __u32 pid)
{
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);

	for (__u32 i = 0; g && i < SL_GROUP_TARGETS && i < g->count; i++)
		if (!((g->target[i].slot ^ slot) | (g->target[i].gen ^ gen) |
		      (g->target[i].pid ^ pid)))
			return i < g->open || i >= g->count - g->narrowed
				       ? i + 1
				       : (i + 1) | SL_TARGET_AWAY;
	return 0;
}

/* The marks of the packet whose IP header is at l3. */
static __always_inline __u32 marks_of(struct sl_ctx *ctx, __u32 l3, __u32 v6)
{
	struct sl_view p = sl_view(ctx);
	struct iphdr *ip = sl_at(&p, l3, sizeof(*ip));
	__u32 first;

	if (!ip)
		return 0;
	if (!v6)
		return SL_MARKS_DSCP(ip->tos >> 2) | SL_MARKS_V4;
	first = bpf_ntohl(*(__be32 *)ip);
	return SL_MARKS_DSCP(first >> 22 & 0x3f) | (first & SL_MARKS_LABEL);
}

/* The number of the narrowed target that the packet fits, counted from 1; 0: none. Of several that
 * are narrowed alike the hash chooses. Packets are told as to pick(). Global, as find_member(). */
__noinline __u32 find_narrowed(struct sl_ctx *ctx, __u64 packed, __u32 group, __u32 hash)
{
	__u32 marks = marks_of(ctx, sl_bounded(packed), packed >> 20 & 1);
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);

	for (__u32 i = 0; g && i < SL_GROUP_NARROWED && i < g->narrowed; i++)
		if (!((marks ^ g->narrow[i].marks.word) & g->narrow[i].mask.word))
			return g->count - g->narrowed + i + 1 +
			       (__u32)(((__u64)hash * g->narrow[i].alike) >> 32);
	return 0;
}

/* The number of the target for a packet that no target has had, counted from 1; 0: none. */
static __always_inline __u32 choose_for(struct sl_ctx *ctx, __u64 packed, __u32 group,
					const struct sl_group *g, __u32 hash)
{
	__u32 n = 0;

	/* (The marks of a packet that an error quotes are our own.) */
	if (g->narrowed && !(packed >> 21 & 1))
		n = find_narrowed(ctx, packed, group, hash);
	return n ? n : choose(g, hash);
}

/* True: the packet is the first segment of a handshake. */
static __always_inline int is_syn(const struct sl_view *p)
{
	struct tcphdr *tcp = sl_at(p, p->l4, sizeof(*tcp));

	return tcp && tcp->syn && !tcp->ack && !tcp->rst;
}

/* Fills in the flow for the kernel's socket look-up. Returns the tuple's size for this IP version.
 */
static __always_inline __u32 load_tuple(const struct sl_flow_key *key, __u32 v6,
					struct bpf_sock_tuple *t)
{
	if (v6) {
		__builtin_memcpy(t->ipv6.saddr, key->remote, 16);
		__builtin_memcpy(t->ipv6.daddr, key->local, 16);
		t->ipv6.sport = bpf_htons(key->remote_port);
		t->ipv6.dport = bpf_htons(key->local_port);
		return sizeof(t->ipv6);
	}
	__builtin_memcpy(&t->ipv4.saddr, key->remote + 12, 4);
	__builtin_memcpy(&t->ipv4.daddr, key->local + 12, 4);
	t->ipv4.sport = bpf_htons(key->remote_port);
	t->ipv4.dport = bpf_htons(key->local_port);
	return sizeof(t->ipv4);
}

/* True: the kernel has a connection of this flow, or the beginning of one. A connection in
 * TIME_WAIT does not count against a SYN, which may replace it. */
static __always_inline int kernel_has(struct sl_ctx *ctx, const struct sl_flow_key *key, __u32 v6,
				      int syn)
{
	struct bpf_sock_tuple t = {};
	__u32 size = load_tuple(key, v6, &t), state;
	struct bpf_sock *sk = bpf_skc_lookup_tcp(ctx, &t, size, BPF_F_CURRENT_NETNS, 0);

	if (!sk)
		return 0;
	state = sk->state;
	bpf_sk_release(sk);
	return state != BPF_TCP_LISTEN && state != BPF_TCP_CLOSE &&
	       !(syn && state == BPF_TCP_TIME_WAIT);
}

/* For a packet to a shared TCP endpoint: the number of the target that got the flow's SYN, counted
 * from 1. 0: the packet is the kernel's. The kernel listens on the endpoint, too (and may have
 * listened alone before), and has a connection of this flow. If the target that got the SYN has
 * left the group, the packet goes to another, which takes a SYN and resets anything else; a process
 * that leaves in order claims its flows first, so their packets are not looked up here. A repeated
 * SYN goes to another target, too, if the first target is away and has not answered. */
static __always_inline __u32 pick_tcp(struct sl_ctx *ctx, const struct sl_flow_key *key,
				      __u64 packed, int syn, __u32 group)
{
	struct sl_claim *had, *now;
	void *flows = picked_flows();
	struct sl_group *g;
	__u32 n = 0;

	had = flows ? bpf_map_lookup_elem(flows, key) : 0;
	if (had)
		n = find_member(group, had->slot, had->gen, had->pid);
	if (n && !(syn && n & SL_TARGET_AWAY))
		return n & ~SL_TARGET_AWAY;
	if (kernel_has(ctx, key, packed >> 20 & 1, syn))
		return 0;
	g = bpf_map_lookup_elem(&groups, &group);
	if (!g)
		return 0;
	n = choose_for(ctx, packed, group, g, flow_hash(key));
	now = target_at(g, n);
	if (!now || !syn)
		return n;
	flows = picked_flows(); /* (kept, it would need stack) */
	if (flows)
		bpf_map_update_elem(flows, key, now, BPF_ANY);
	return n;
}

/* A packet in the form in which a global function is told of it. */
static __always_inline __u64 pack_view(const struct sl_view *p, enum side ours)
{
	return p->l3 | p->l4 << 10 | (__u32)p->v6 << 20 | (__u32)(ours == OUR_SRC) << 21 |
	       (__u64)p->proto << 24 | (__u64)p->src_port << 32 | (__u64)p->dst_port << 48;
}

/* The number of the target of the group that gets the packet, counted from 1; 0: the packet is the
 * kernel's. A global function, so that the verifier checks it once for packets and for ICMP errors,
 * and not for each way that leads there. */
__noinline __u32 pick(struct sl_ctx *ctx, __u64 packed, __u32 vlan, __u32 group)
{
	enum side ours = packed >> 21 & 1 ? OUR_SRC : OUR_DST;
	struct sl_view p = sl_view(ctx);
	struct sl_flow_key key;
	struct sl_group *g;
	int syn;

	p.l3 = sl_bounded(packed);
	p.v6 = packed >> 20 & 1;
	p.vlan = vlan;
	p.proto = packed >> 24;
	p.src_port = packed >> 32;
	p.dst_port = packed >> 48;
	if (load_flow(&p, ours, &key))
		return 0;
	asm volatile("" : "+r"(ctx) : "r"(&key) : "memory"); /* read again: that saves stack */
	if (key.proto == IPPROTO_TCP) {
		p = sl_view(ctx);
		p.l4 = sl_bounded(packed >> 10);
		syn = ours == OUR_DST && is_syn(&p);
		return pick_tcp(ctx, &key, packed, syn, group);
	}
	g = bpf_map_lookup_elem(&groups, &group);
	return g ? choose_for(ctx, packed, group, g, flow_hash(&key)) : 0;
}

#endif
