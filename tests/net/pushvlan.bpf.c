/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tags UDP packets to port 7000 that leave a device, as a VLAN device would: the tag stands beside
 * the packet, for the hardware to put in (veth claims to). Section tcN: VID N.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

static __always_inline int push(struct __sk_buff *skb, __u16 tci)
{
	__be16 port = 0;
	__u8 proto = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP) &&
	    !bpf_skb_load_bytes(skb, ETH_HLEN + 9, &proto, 1) && proto == 17 &&
	    !bpf_skb_load_bytes(skb, ETH_HLEN + 22, &port, 2) && port == bpf_htons(7000))
		bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), tci);
	return TC_ACT_OK;
}

SEC("tc7")
int push7(struct __sk_buff *skb)
{
	return push(skb, 7);
}

SEC("tc0")
int push0(struct __sk_buff *skb)
{
	return push(skb, 0xa000); /* a priority alone */
}

char _license[] SEC("license") = "Dual BSD/GPL";
