/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queues of the simulated NIC of steering_nic.c: on the way out of its veth's other end, which
 * decides by which queue the packet comes in (veth_xmit()). */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "steering_nic.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NIC_RULES);
	__type(key, struct nic_key);
	__type(value, __u32);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NIC_CONTEXTS *NIC_SPREADS);
	__type(key, __u32);
	__type(value, __u32);
} spread SEC(".maps");

static __always_inline int parse(struct __sk_buff *skb, struct nic_key *k)
{
	__u32 l4 = ETH_HLEN;
	__be16 ports[2];

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, l4, &ip, sizeof(ip)) || ip.frag_off & bpf_htons(0x3fff))
			return -1;
		k->dst[2] = k->src[2] = bpf_htonl(0xffff);
		k->dst[3] = ip.daddr;
		k->src[3] = ip.saddr;
		k->proto = ip.protocol;
		l4 += ip.ihl * 4;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip;

		if (bpf_skb_load_bytes(skb, l4, &ip, sizeof(ip)))
			return -1;
		__builtin_memcpy(k->dst, &ip.daddr, 16);
		__builtin_memcpy(k->src, &ip.saddr, 16);
		k->proto = ip.nexthdr;
		l4 += sizeof(ip);
	} else {
		return -1;
	}
	if ((k->proto != IPPROTO_TCP && k->proto != IPPROTO_UDP) ||
	    bpf_skb_load_bytes(skb, l4, ports, sizeof(ports)))
		return -1;
	k->sport = ports[0];
	k->dport = ports[1];
	return 0;
}

static __always_inline __u32 *find(struct nic_key *k)
{
	__u32 *queue = bpf_map_lookup_elem(&rules, k);

	if (queue)
		return queue;
	__builtin_memset(k->src, 0, sizeof(k->src));
	k->sport = 0;
	queue = bpf_map_lookup_elem(&rules, k);
	if (queue)
		return queue;
	k->dst[0] = k->dst[1] = k->dst[3] = 0; /* the other bits are the family */
	if (k->dst[2] != bpf_htonl(0xffff))
		k->dst[2] = 0;
	return bpf_map_lookup_elem(&rules, k);
}

SEC("tc")
int queues(struct __sk_buff *skb)
{
	struct nic_key k = {};
	__u32 *queue = parse(skb, &k) ? 0 : find(&k);
	__u32 at = bpf_get_hash_recalc(skb) % NIC_SPREADS;

	if (queue && *queue & NIC_SPREAD)
		at += (*queue & ~NIC_SPREAD) * NIC_SPREADS;
	if (!queue || *queue & NIC_SPREAD)
		queue = bpf_map_lookup_elem(&spread, &at);
	if (queue)
		skb->queue_mapping =
			*queue + 1; /* as if it had come in by that one (skb_tx_hash()) */
	return TC_ACT_OK;
}

char _license[] SEC("license") = "Dual BSD/GPL";
