/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The outer headers of VXLAN, and the marks of congestion that go from them to the inner packet. */
#ifndef SL_VXLAN_MARK_BPF_H
#define SL_VXLAN_MARK_BPF_H

#include "parse.bpf.h"
#include "vxlan.h"

#define SL_CE 3

/* The outer headers behind IP. */
struct sl_vxlan_outer {
	struct udphdr udp;
	__be32 flags, vni;
	struct ethhdr inner;
} __attribute__((packed));
_Static_assert(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct sl_vxlan_outer) ==
		       SL_VXLAN_BYTES4 + ETH_HLEN,
	       "no gaps");

static __always_inline __u32 sl_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Takes a mark of congestion over from the outer header (RFC 6040 4.2). Nonzero: the kernel
 * decides, since the inner packet bears no marks, or the outer one is ECT(1). A tc program writes
 * later, by a helper (steer_skb.bpf.c): one that writes by itself costs each packet a look at
 * whether it is shared (bpf_unclone_prologue()). */
static __always_inline int vxlan_mark4(struct iphdr *ip, __u32 outer)
{
	__u32 more = SL_CE - (ip->tos & SL_CE);

	if (outer != SL_CE || more == SL_CE)
		return -1;
#ifndef SL_SKB
	ip->check = sl_fold((__u64)ip->check + (__u16)~bpf_htons(more));
	ip->tos |= SL_CE;
#endif
	return 0;
}

/* The outer checksum stays right, in case that the packet passes after all. */
static __always_inline int vxlan_mark6(struct ipv6hdr *ip, struct sl_vxlan_outer *o, __u32 outer)
{
	__u8 *class = (__u8 *)ip + 1;
	__u32 more = (SL_CE << 4) - (*class & SL_CE << 4);

	if (outer != SL_CE || more == SL_CE << 4)
		return -1;
#ifndef SL_SKB
	*class |= SL_CE << 4;
	if (o->udp.check)
		o->udp.check = sl_fold((__u64)o->udp.check + (__u16)~bpf_htons(more));
#endif
	return 0;
}

#endif
