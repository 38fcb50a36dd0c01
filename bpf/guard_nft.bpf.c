/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Does the work of guard_nf.bpf.c on kernels without BPF links for netfilter: a rule of nf_tables
 * at the same hook runs this program (lib/ctl/steer/nft.c) and drops the packets for which it
 * returns 1. The rule leaves packets to the loopback device alone. */
#include "skb.bpf.h"

/* A socket filter may read only the common part of a socket, so bpf_sk_fullsock() is not called. */
static __always_inline int is_of_socket(struct __sk_buff *skb, __u32 local, __be16 remote)
{
	struct bpf_sock *sk = skb->sk;

	return sk && sl_is_of_socket(sk->state, sk->src_port, sk->dst_port, local, remote);
}

static __always_inline __be16 ip_version(struct __sk_buff *skb)
{
	__u8 first = 0;

	bpf_skb_load_bytes(skb, 0, &first, 1);
	return bpf_htons(first >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP);
}

/* Returns 1 to drop the packet. */
SEC("socket")
int guard_nft(struct __sk_buff *skb)
{
	struct sl_flow_key key = {.proto = IPPROTO_TCP};
	struct tcphdr tcp;
	__u64 bits;
	__u32 l4;

	if (skb->len > SL_RESET_MAX)
		return 0;
	l4 = sl_find_tcp(skb, 0, ip_version(skb), &key);
	if (!l4 || bpf_skb_load_bytes(skb, l4, &tcp, sizeof(tcp)) || !tcp.rst)
		return 0;
	key.local_port = bpf_ntohs(tcp.source);
	key.remote_port = bpf_ntohs(tcp.dest);
	bits = sl_claims_of(&key);
	return bits && !is_of_socket(skb, key.local_port, tcp.dest) &&
	       sl_hold_back(&key, bits, SL_HOLD_NS, &tcp);
}

char _license[] SEC("license") = "Dual BSD/GPL";
