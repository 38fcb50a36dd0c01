/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cache of the claims found last, one for each CPU: a look-up in an array and one cache line
 * instead of one to three hashes of 24 or 44 bytes.
 *
 * Theory of operation: an entry is valid for the word of `ports` that it was made under. A program
 * that changes the result of look-ups for a port raises the word's generation afterwards, so
 * entries made before or during the change are never used again. Only claims are remembered, not
 * their absence, and only those that the key alone decides: no choice within a group. A port
 * without flows needs no remote end in the key: all its senders share an entry, and so do the
 * connections of a listener.
 *
 * Somebody who changes the maps by hand raises no generation. The word that an entry is made under
 * therefore has the time in its upper bits, too, in units that many look-ups fit in. */
#ifndef SL_RECENT_BPF_H
#define SL_RECENT_BPF_H

#include "find.bpf.h"
#include "veil.bpf.h"

#define SL_RECENT_BITS 10
#define SL_RECENT_ROW  128 /* entries of a map value: one allocation each would be slow */
/* First bit of the time in the word (the bits below count generations: 2^36 changes pass before one
 * comes again), and the unit of the time, log2 of the kernel's ticks: 0.06 s (at 1,000 Hz) to 0.64
 * s (at 100 Hz). */
#define SL_RECENT_TIME 44
#define SL_RECENT_TICK 6

struct sl_recent_key {
	__u64 word;    /* word of `ports` plus the time; 0: the entry is empty */
	__u32 vlan;    /* with protocol and IP version in bits 12 and 13, which no VID has */
	__u32 ports;   /* remote port << 16 | local port */
	__u64 addr[4]; /* remote and local; IPv4 has both in the first */
};

struct sl_recent {
	struct sl_recent_key key;
	__u32 lane_match; /* lane << 2 | enum match */
	__u32 slot;
	__u32 gen;
	__u32 flags;
};
_Static_assert(sizeof(struct sl_recent) == 64, "a cache line");

struct sl_recent_row {
	struct sl_recent entry[SL_RECENT_ROW];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, (1 << SL_RECENT_BITS) / SL_RECENT_ROW);
	__type(key, __u32);
	__type(value, struct sl_recent_row);
} recent SEC(".maps");

static __always_inline __u64 pair(const __be32 *a)
{
	return (__u64)a[1] << 32 | a[0];
}

/* Makes the key for a packet that arrived: its destination is this host. */
static __always_inline int recent_key(const struct sl_view *p, __u64 word, struct sl_recent_key *k)
{
	__u64 remote = 0 - (word & SL_L4_PORT_FLOW);

	_Static_assert(SL_L4_PORT_FLOW == 1, "a mask is made of it, without a way of its own");
	k->word = word + (bpf_jiffies64() >> SL_RECENT_TICK << SL_RECENT_TIME);
	k->ports = (remote & p->src_port) << 16 | p->dst_port;
	k->vlan = p->vlan | (__u32)(p->proto == IPPROTO_TCP) << 12 | (__u32)p->v6 << 13;
	if (p->v6) {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		k->addr[0] = pair(ip->saddr.in6_u.u6_addr32) & remote;
		k->addr[1] = pair(ip->saddr.in6_u.u6_addr32 + 2) & remote;
		k->addr[2] = pair(ip->daddr.in6_u.u6_addr32);
		k->addr[3] = pair(ip->daddr.in6_u.u6_addr32 + 2);
	} else {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		k->addr[0] = (__u64)ip->daddr << 32 | (ip->saddr & (__u32)remote);
		k->addr[1] = k->addr[2] = k->addr[3] = 0;
	}
	return 0;
}

/* The key's place in the array. A sender that builds collisions makes its packets cost what they
 * cost without this cache. The hash leaves the VLAN out: with it the verifier would check all that
 * follows again for each way to know the VLAN. */
static __always_inline struct sl_recent *recent_at(const struct sl_recent_key *k)
{
	__u64 x = k->addr[0] ^ k->addr[1] ^ k->addr[3];
	__u32 h = ((__u32)(x ^ x >> 32) ^ k->ports) * 0x9e3779b1;
	__u32 n = h >> (32 - SL_RECENT_BITS), row = n / SL_RECENT_ROW, i = n % SL_RECENT_ROW;
	struct sl_recent_row *r;

	r = bpf_map_lookup_elem(&recent, &row);
	if (!r)
		return 0;
	asm volatile("" : "+r"(i)); /* the verifier allows no sum before the check */
	return &r->entry[i];
}

static __always_inline int is_recent(const struct sl_recent *r, const struct sl_recent_key *k)
{
	return !((r->key.word ^ k->word) | (r->key.ports ^ k->ports) | (r->key.vlan ^ k->vlan) |
		 (r->key.addr[0] ^ k->addr[0]) | (r->key.addr[1] ^ k->addr[1]) |
		 (r->key.addr[2] ^ k->addr[2]) | (r->key.addr[3] ^ k->addr[3]));
}

#endif
