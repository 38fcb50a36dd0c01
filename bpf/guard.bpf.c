/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Keeps the kernel from resetting connections that are not its own. Runs where a device sends
 * (tcx): a segment that gets past the steering program (a fragment, or any segment between the
 * program's removal and the hand-back of the connection) finds no socket in the kernel, which
 * answers with a reset. Sluice's own resets leave by AF_XDP and do not pass here. Resets that a
 * connection of the kernel's sends itself are let through: the kernel may have connections on a
 * claimed endpoint, too. guard_nf.bpf.c does the same for segments that came by another device. */
#include <linux/pkt_cls.h>

#include "skb.bpf.h"

/* Reads the VLAN tags: the outermost, which the skb carries beside the packet until the device
 * sends it (or in the packet: a VLAN device without reorder_hdr), then those in the packet. Returns
 * where IP begins, and its EtherType in *proto. */
static __always_inline __u32 find_ip(struct __sk_buff *skb, __u32 *vlan, __be16 *proto)
{
	__u32 l3 = ETH_HLEN;
	struct sl_vlan_hdr tag;

	*proto = skb->protocol;
	if (skb->vlan_present)
		*vlan = sl_tag(skb->vlan_proto, skb->vlan_tci);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (!sl_is_vlan(*proto) || bpf_skb_load_bytes(skb, l3, &tag, sizeof(tag)))
			break;
		*vlan = *vlan << 16 | sl_tag(*proto, bpf_ntohs(tag.tci));
		*proto = tag.proto;
		l3 += sizeof(tag);
	}
	return l3;
}

static __always_inline int is_of_socket(struct __sk_buff *skb, __u32 local, __be16 remote)
{
	struct bpf_sock *sk = skb->sk;

	if (sk)
		sk = bpf_sk_fullsock(sk);
	return sk && sl_is_of_socket(sk->state, sk->src_port, sk->dst_port, local, remote);
}

SEC("tc")
int guard(struct __sk_buff *skb)
{
	struct sl_flow_key key = {.proto = IPPROTO_TCP};
	__be16 proto;
	__u32 l3 = find_ip(skb, &key.vlan, &proto);
	__u32 l4 = sl_find_tcp(skb, l3, proto, &key);
	struct tcphdr tcp;
	__u64 bits;

	if (!l4 || bpf_skb_load_bytes(skb, l4, &tcp, sizeof(tcp)) || !tcp.rst)
		return TC_ACT_UNSPEC;
	key.local_port = bpf_ntohs(tcp.source);
	key.remote_port = bpf_ntohs(tcp.dest);
	bits = sl_claims_of(&key);
	if (!bits || is_of_socket(skb, key.local_port, tcp.dest) ||
	    !sl_hold_back(&key, bits, ~0ull, &tcp))
		return TC_ACT_UNSPEC;
	return TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
