/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The guard (guard.bpf.c) for all other ways out of the network namespace: a netfilter hook that
 * sees what this host sends, before conntrack takes the connection for reset. A peer whose route
 * has changed, or whose link to our device is down, sends by another device of this host; there the
 * kernel gets the segments, and has no socket. The guard notes the flow in `strays`, and its owner
 * hands it back to the kernel.
 *
 * Packets have no VLAN tag here yet, so claims of flows inside VLANs are not found. Their port is
 * found in `ports`: a reset that answers a segment of a connection is held back as if somebody had
 * taken the claim out of the maps (sl_hold_back()), and noted without a tag; owners find their flow
 * by addresses and ports. */
#include "parse.bpf.h"

#include "reset.bpf.h"

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	__be16 skc_dport;
	__u16 skc_num;
	unsigned char skc_state;
};
struct sock {
	struct sock_common __sk_common;
};
struct sk_buff {
	struct sock *sk;
	unsigned int len;
	__u16 transport_header, network_header;
	unsigned char *head;
};
struct net_device {
	unsigned int flags;
};
struct nf_hook_state {
	__u8 pf;
	struct net_device *out;
};
struct bpf_nf_ctx {
	const struct nf_hook_state *state;
	struct sk_buff *skb;
};
#pragma clang attribute pop

union headers {
	struct iphdr ip4;
	struct ipv6hdr ip6;
};

/* Fills in the addresses of both ends. 0: the packet is not TCP. */
static __always_inline int find_ends(const union headers *h, int ip6, struct sl_flow_key *key)
{
	if (ip6) {
		sl_ends_v6(key, &h->ip6);
		return h->ip6.nexthdr == IPPROTO_TCP;
	}
	sl_ends_v4(key, &h->ip4);
	return h->ip4.protocol == IPPROTO_TCP;
}

static __always_inline int is_of_socket(struct sk_buff *skb, __u32 local, __be16 remote)
{
	struct sock *sk = skb->sk;

	return sk && sl_is_of_socket(sk->__sk_common.skc_state, sk->__sk_common.skc_num,
				     sk->__sk_common.skc_dport, local, remote);
}

/* True: the packet goes to this host itself. Such connections are always the kernel's. (Before
 * Linux 6.13 its resets do not name their socket.) */
static __always_inline int is_to_own(const struct nf_hook_state *state)
{
	return state->out->flags & 1 << 3; /* IFF_LOOPBACK */
}

SEC("netfilter")
int guard_nf(struct bpf_nf_ctx *ctx)
{
	const int drop = 0, accept = 1; /* NF_DROP, NF_ACCEPT */
	struct sl_flow_key key = {.proto = IPPROTO_TCP};
	struct sk_buff *skb = ctx->skb;
	union headers ip = {};
	struct tcphdr tcp;
	__u64 bits;

	if (skb->len > SL_RESET_MAX ||
	    bpf_probe_read_kernel(&tcp, sizeof(tcp), skb->head + skb->transport_header) || !tcp.rst)
		return accept;
	key.local_port = bpf_ntohs(tcp.source);
	key.remote_port = bpf_ntohs(tcp.dest);
	bits = sl_claims_of(&key);
	if (!bits || is_to_own(ctx->state) ||
	    bpf_probe_read_kernel(&ip, sizeof(ip), skb->head + skb->network_header) ||
	    !find_ends(&ip, ctx->state->pf == 10 /* NFPROTO_IPV6 */, &key) ||
	    is_of_socket(skb, key.local_port, tcp.dest) ||
	    !sl_hold_back(&key, bits, SL_HOLD_NS, &tcp))
		return accept;
	return drop;
}

char _license[] SEC("license") = "Dual BSD/GPL";
