/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* For all guards: tells whether a reset that the kernel is about to send concerns a flow of ours.
 * If so, the flow has strayed, and is noted in `strays`. */
#ifndef SL_RESET_BPF_H
#define SL_RESET_BPF_H

#include "claims.bpf.h"

#define SL_RESET_MAX 120 /* bytes of the longest one: IPv6, TCP with all its options */

/* Sets the addresses of a packet that this host sends, in a key that was zeroed before. */
static __always_inline void sl_ends_v4(struct sl_flow_key *key, const struct iphdr *ip)
{
	key->local[10] = key->local[11] = key->remote[10] = key->remote[11] = 0xff;
	__builtin_memcpy(key->local + 12, &ip->saddr, 4);
	__builtin_memcpy(key->remote + 12, &ip->daddr, 4);
}

static __always_inline void sl_ends_v6(struct sl_flow_key *key, const struct ipv6hdr *ip)
{
	__builtin_memcpy(key->local, &ip->saddr, 16);
	__builtin_memcpy(key->remote, &ip->daddr, 16);
}

/* Notes the flow, and the number of a reset that the kernel is about to send for it. Returns for
 * how many ns the flow has been noted. */
static __always_inline __u64 sl_note_stray(const struct sl_flow_key *key, __u32 seq)
{
	struct sl_stray *known = bpf_map_lookup_elem(&strays, key);
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 i;

	if (!known) {
		struct sl_stray new = {.first_ns = now_ns, .last_ns = now_ns, .n = 1};

		new.note[0].at = now_ns >> SL_STRAY_TICK;
		new.note[0].seq = seq;
		bpf_map_update_elem(&strays, key, &new, BPF_NOEXIST);
		return 0;
	}
	known->last_ns = now_ns;
	i = known->n < SL_STRAY_NOTES ? known->n++ : bpf_get_prandom_u32();
	asm volatile("%0 &= 7" : "+r"(i)); /* the verifier must see the mask */
	known->note[i].at = now_ns >> SL_STRAY_TICK;
	known->note[i].seq = seq;
	return now_ns - known->first_ns;
}

/* True: the flow's local end is claimed, by address and port or by the port alone. An IPv4 wildcard
 * does not cover IPv6 flows, for which there may be no listener. */
static __always_inline int sl_is_end_claimed(const struct sl_flow_key *key, __u64 bits)
{
	struct sl_endpoint_key end = {
		.local_port = key->local_port, .proto = IPPROTO_TCP, .vlan = key->vlan};
	const __u32 *a = (const __u32 *)key->local;

	__builtin_memcpy(end.local, key->local, 16);
	if (bits & SL_L4_PORT_ENDPOINT && bpf_map_lookup_elem(&endpoints, &end))
		return 1;
	if (!(bits & SL_L4_PORT_WILDCARD))
		return 0;
	__builtin_memset(end.local, 0, 16);
	if (!a[0] && !a[1] && a[2] == bpf_htonl(0xffff))
		end.local[10] = end.local[11] = 0xff;
	return bpf_map_lookup_elem(&endpoints, &end) != 0;
}

/* Longer than owners need: they read `strays` every two seconds or more often. */
#define SL_HOLD_NS 5000000000ull

/* True: hold the reset back, since the flow or its endpoint has a claim. Whether the endpoint's
 * socket has a connection of this flow is not known here: if no owner has taken it up after
 * hold_ns, there is none. Without any matching claim SL_HOLD_NS applies while `ports` has bits for
 * the port: somebody may have taken the claim out of the maps by hand.
 *
 * Without a claim of the flow, a reset with ACK goes out: it answers a SYN to a port where nothing
 * listens, or not on that device (SO_BINDTODEVICE). Segments of a connection bear ACK, and a reset
 * that answers one of these does not. With a claim of the flow it is held back and not noted: its
 * segment acknowledged nothing, so nothing says that the peer sent it. */
static __always_inline int sl_hold_back(const struct sl_flow_key *key, __u64 bits, __u64 hold_ns,
					const struct tcphdr *tcp)
{
	__u32 seq = bpf_ntohl(tcp->seq);
	struct sl_claim *claim = 0;

	if (bits & SL_L4_PORT_FLOW)
		claim = bpf_map_lookup_elem(&flows, key);
	if (claim) {
		if (claim->flags & SL_CLAIM_PASS)
			return 0;
		if (!tcp->ack)
			sl_note_stray(key, seq);
		return 1;
	}
	if (tcp->ack)
		return 0;
	if (!sl_is_end_claimed(key, bits))
		hold_ns = SL_HOLD_NS;
	return sl_note_stray(key, seq) < hold_ns;
}

/* The claim bits of the flow's local port. 0: it has no claims, and no further check is needed. */
static __always_inline __u64 sl_claims_of(const struct sl_flow_key *key)
{
	__u32 index = 65536 + key->local_port;
	__u64 *bits = bpf_map_lookup_elem(&ports, &index);

	return bits ? *bits & SL_L4_PORT_BITS : 0;
}

/* True: a connection of the kernel's sends this reset itself. The reset that answers a segment
 * without a connection comes from a socket without port and peer, or names the listener (newer
 * kernels). A connection that was accepted, and closed with bytes unread, has given its port back
 * before it resets its peer: port 0 counts if the peer is right. */
static __always_inline int sl_is_of_socket(int state, __u32 port, __be16 peer, __u32 local,
					   __be16 remote)
{
	return state != BPF_TCP_LISTEN && (port == local || (!port && peer == remote));
}

#endif
