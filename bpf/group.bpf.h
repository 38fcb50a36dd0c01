/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Endpoints that several sockets share: which of them gets a packet. */
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

static __always_inline __u32 flow_hash(const struct sl_pkt *p, enum side ours)
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
	__asm__ volatile("" : "+r"(i)); /* the verifier is to see what is compared */
	if (i >= SL_GROUP_TARGETS)
		return 0;
	return &g->target[i];
}

/* Global, so that the verifier walks the loop once. 0: it is none; 1: it is; 2: for what it has. */
__noinline int is_target(__u32 group, __u32 slot, __u32 gen, __u32 pid)
{
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);

	for (__u32 i = 0; g && i < SL_GROUP_TARGETS && i < g->count; i++)
		if (!((g->target[i].slot ^ slot) | (g->target[i].gen ^ gen) |
		      (g->target[i].pid ^ pid)))
			return i < g->open ? 1 : 2;
	return 0;
}

/* The first segment of a handshake. */
static __always_inline int is_syn(const struct sl_pkt *p)
{
	struct tcphdr *tcp = sl_at(p, p->l4, sizeof(*tcp));

	return tcp && tcp->syn && !tcp->ack && !tcp->rst;
}

/* Has the kernel a connection of that flow, or the beginning of one? One in TIME_WAIT gives way to
 * a SYN. */
static __always_inline int kernel_has(struct xdp_md *ctx, const struct sl_pkt *p,
				      const struct sl_flow_key *key, int syn)
{
	struct bpf_sock_tuple t = {};
	__u32 size = sizeof(t.ipv4), state;
	struct bpf_sock *sk;

	if (p->v6) {
		size = sizeof(t.ipv6);
		__builtin_memcpy(t.ipv6.saddr, key->remote, 16);
		__builtin_memcpy(t.ipv6.daddr, key->local, 16);
		t.ipv6.sport = bpf_htons(key->remote_port);
		t.ipv6.dport = bpf_htons(key->local_port);
	} else {
		__builtin_memcpy(&t.ipv4.saddr, key->remote + 12, 4);
		__builtin_memcpy(&t.ipv4.daddr, key->local + 12, 4);
		t.ipv4.sport = bpf_htons(key->remote_port);
		t.ipv4.dport = bpf_htons(key->local_port);
	}
	sk = bpf_skc_lookup_tcp(ctx, &t, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return 0;
	state = sk->state;
	bpf_sk_release(sk);
	return state != BPF_TCP_LISTEN && state != BPF_TCP_CLOSE &&
	       !(syn && state == BPF_TCP_TIME_WAIT);
}

/* Of a packet for a TCP endpoint that is shared: the target that had the flow's SYN. What the
 * kernel has (it listens, too, and may have done so alone) is the kernel's. Of a target that is not
 * there any more everything goes to another, which takes a SYN and resets the rest: who left in
 * peace has claimed the flows that it has, and is not asked here. A SYN that one who is away has
 * not answered goes to another. NULL: the kernel's. */
static __always_inline struct sl_claim *pick_tcp(struct xdp_md *ctx, const struct sl_pkt *p,
						 enum side ours, __u32 group)
{
	struct sl_flow_key key;
	int syn = ours == OUR_DST && is_syn(p);
	struct sl_claim *had, *now;
	int is = 0;

	if (load_flow(p, ours, &key))
		return 0;
	had = bpf_map_lookup_elem(&picked, &key);
	if (had)
		is = is_target(group, had->slot, had->gen, had->pid);
	if (is == 1 || (is && !syn))
		return had;
	if (kernel_has(ctx, p, &key, syn))
		return 0;
	now = pick_target(group, flow_hash(p, ours));
	if (now && syn)
		bpf_map_update_elem(&picked, &key, now, BPF_ANY);
	return now;
}

#endif
