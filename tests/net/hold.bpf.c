/* SPDX-License-Identifier: BSD-2-Clause */
/* Drops outgoing TCP segments from the ports 20000 to 20099, but for SYNs. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TCP    6
#define SYN    0x02
#define V4_END 20 /* (without options) */
#define V6_END 40

SEC("tc")
int hold(struct __sk_buff *skb)
{
	int v6 = skb->protocol == bpf_htons(ETH_P_IPV6);
	int tcp = ETH_HLEN + (v6 ? V6_END : V4_END);
	__u8 proto, flags;
	__be16 port;

	if (!v6 && skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, ETH_HLEN + (v6 ? 6 : 9), &proto, 1) || proto != TCP ||
	    bpf_skb_load_bytes(skb, tcp, &port, 2) || bpf_skb_load_bytes(skb, tcp + 13, &flags, 1))
		return TC_ACT_OK;
	if (bpf_ntohs(port) / 100 != 200 || flags & SYN)
		return TC_ACT_OK;
	return TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
