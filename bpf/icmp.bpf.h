/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* ICMP errors: finds the segment of ours that an error quotes. */
#ifndef SL_ICMP_BPF_H
#define SL_ICMP_BPF_H

#include "parse.bpf.h"

/* linux/icmp.h needs headers of the host's C library. */
#define ICMP_LEN            8
#define ICMP_DEST_UNREACH   3
#define ICMP_TIME_EXCEEDED  11
#define ICMP_PARAMETERPROB  12
#define ICMPV6_DEST_UNREACH 1
#define ICMPV6_PKT_TOOBIG   2
#define ICMPV6_TIME_EXCEED  3
#define ICMPV6_PARAMPROB    4

/* True: an error about one packet: unreachable, too big, time exceeded, bad header. */
static __always_inline int is_icmp_error(const struct sl_view *p)
{
	__u8 *icmp = sl_at(p, p->l4, ICMP_LEN);

	if (!icmp)
		return 0;
	if (p->v6)
		return *icmp == ICMPV6_DEST_UNREACH || *icmp == ICMPV6_PKT_TOOBIG ||
		       *icmp == ICMPV6_TIME_EXCEED || *icmp == ICMPV6_PARAMPROB;
	return *icmp == ICMP_DEST_UNREACH || *icmp == ICMP_TIME_EXCEEDED ||
	       *icmp == ICMP_PARAMETERPROB;
}

/* Reads the segment that the error quotes: its addresses and ports, ours in dst_port. Nonzero: not
 * TCP. Sockets of other protocols hear of errors through their shadow. */
static __always_inline int parse_inner(struct sl_view *in)
{
	struct tcphdr *tcp;

	if (in->v6) {
		struct ipv6hdr *ip = sl_at(in, in->l3, sizeof(*ip));

		if (!ip || ip->version != 6)
			return -1;
		in->proto = ip->nexthdr;
		in->l4 = in->l3 + sizeof(*ip);
	} else {
		struct iphdr *ip = sl_at(in, in->l3, sizeof(*ip));

		if (!ip || ip->version != 4 || ip->frag_off & bpf_htons(0x1fff))
			return -1;
		in->proto = ip->protocol;
		in->l4 = in->l3 + ip->ihl * 4;
	}
	tcp = sl_at(in, in->l4, 8); /* an error quotes 8 bytes at least (RFC 792) */
	if (!tcp || in->proto != IPPROTO_TCP)
		return -1;
	in->dst_port = bpf_ntohs(tcp->source);
	in->src_port = bpf_ntohs(tcp->dest);
	return 0;
}

#endif
