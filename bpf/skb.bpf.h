/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* For the guards that get a packet's bytes (skb): reads the ends of a TCP segment that this host
 * sends. */
#ifndef SL_SKB_BPF_H
#define SL_SKB_BPF_H

#include "parse.bpf.h"

#include "reset.bpf.h"

/* IP of type proto begins at l3. Fills in both addresses. Returns where TCP begins; 0: it is not
 * TCP. */
static __always_inline __u32 sl_find_tcp(struct __sk_buff *skb, __u32 l3, __be16 proto,
					 struct sl_flow_key *key)
{
	struct ipv6hdr ip6;
	struct iphdr ip;

	if (proto == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes(skb, l3, &ip, sizeof(ip)) || ip.protocol != IPPROTO_TCP)
			return 0;
		sl_ends_v4(key, &ip);
		return l3 + ip.ihl * 4;
	}
	if (proto != bpf_htons(ETH_P_IPV6) || bpf_skb_load_bytes(skb, l3, &ip6, sizeof(ip6)) ||
	    ip6.nexthdr != IPPROTO_TCP)
		return 0;
	sl_ends_v6(key, &ip6);
	return l3 + sizeof(ip6);
}

#endif
