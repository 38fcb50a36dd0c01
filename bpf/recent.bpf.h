/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What was found for the flows of late, by each CPU for itself: a look-up in an array and one cache
 * line instead of one to three hashes of 24 or 44 bytes.
 *
 * Theory of operation: an entry is good for the word of `ports` that it was made under. Whoever
 * changes what a look-up of that port could find raises the word's generation after it, so an entry
 * that was made before is never used again, nor is one made meanwhile. Remembered are claims, not
 * that there is none; and of those only what the key decides alone: no group's choice. A port that
 * has no flows needs no remote end in the key: all its senders share an entry, and so do the
 * connections of a listener.
 *
 * Others may change the maps by hand, and raise nothing. So the word that an entry is made under
 * has the time in its upper bits, too, in units that many look-ups fit in. */
#ifndef SL_RECENT_BPF_H
#define SL_RECENT_BPF_H

#include "find.bpf.h"
#include "veil.bpf.h"

#define SL_RECENT_BITS 10
#define SL_RECENT_ROW  128 /* entries of a map's value: an allocation for each would take longer */
/* First bit of the time in the word (so many generations come before one is met again), and its
 * unit, log2 of the kernel's ticks: 0.06 s (at 1,000 Hz) to 0.64 (at 100). */
#define SL_RECENT_TIME 44
#define SL_RECENT_TICK 6

struct sl_recent_key {
	__u64 word;    /* of `ports`, and the time; 0: the entry is empty */
	__u32 vlan;    /* and in bits that no VID has what IP and which protocol */
	__u32 ports;   /* remote's, local's */
	__u64 addr[4]; /* remote and local; of IPv4 both are in the first */
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

/* Of a packet that is for its destination. */
static __always_inline int recent_key(const struct sl_pkt *p, __u64 word, struct sl_recent_key *k)
{
	__u64 remote = 0 - (word & SL_PORT_FLOW);

	_Static_assert(SL_PORT_FLOW == 1, "a mask is made of it, without a way of its own");
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

/* Where the key's entry is. Who builds collisions gets what packets cost without any of this. (Not
 * of the VLAN: the verifier would go through all that follows anew for each way to know of it.) */
static __always_inline struct sl_recent *recent_at(const struct sl_recent_key *k)
{
	__u64 x = k->addr[0] ^ k->addr[1] ^ k->addr[3];
	__u32 h = ((__u32)(x ^ x >> 32) ^ k->ports) * 0x9e3779b1;
	__u32 n = h >> (32 - SL_RECENT_BITS), row = n / SL_RECENT_ROW, i = n % SL_RECENT_ROW;
	struct sl_recent_row *r;

	r = bpf_map_lookup_elem(&recent, &row);
	if (!r)
		return 0;
	asm volatile("" : "+r"(i)); /* no sum before the check, says the verifier */
	return &r->entry[i];
}

static __always_inline int is_recent(const struct sl_recent *r, const struct sl_recent_key *k)
{
	return !((r->key.word ^ k->word) | (r->key.ports ^ k->ports) | (r->key.vlan ^ k->vlan) |
		 (r->key.addr[0] ^ k->addr[0]) | (r->key.addr[1] ^ k->addr[1]) |
		 (r->key.addr[2] ^ k->addr[2]) | (r->key.addr[3] ^ k->addr[3]));
}

#endif
