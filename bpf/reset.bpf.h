/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whether a reset that the kernel is about to send is one of a flow that is ours; then the flow has
 * strayed, which is noted. Of all guards. */
#ifndef SL_RESET_BPF_H
#define SL_RESET_BPF_H

#include "claims.bpf.h"

#define SL_RESET_MAX 120 /* bytes of the longest one: IPv6, TCP with all its options */

/* The ends of what this host sends; the rest of the key is there, or 0. */
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

/* Returns for how long it has been so. */
static __always_inline __u64 sl_note_stray(const struct sl_flow_key *key)
{
	struct sl_stray *known = bpf_map_lookup_elem(&strays, key);
	struct sl_stray now = {.first_ns = bpf_ktime_get_ns()};

	now.last_ns = now.first_ns;
	if (!known) {
		bpf_map_update_elem(&strays, key, &now, BPF_NOEXIST);
		return 0;
	}
	known->last_ns = now.last_ns;
	return now.last_ns - known->first_ns;
}

/* Is the flow's local end claimed, by address and port or by the port alone? (That of IPv4 is none
 * of IPv6, where nobody may listen.) */
static __always_inline int sl_is_end_claimed(const struct sl_flow_key *key, __u64 bits)
{
	struct sl_endpoint_key end = {
		.local_port = key->local_port, .proto = IPPROTO_TCP, .vlan = key->vlan};
	const __u32 *a = (const __u32 *)key->local;

	__builtin_memcpy(end.local, key->local, 16);
	if (bits & SL_PORT_ENDPOINT && bpf_map_lookup_elem(&endpoints, &end))
		return 1;
	if (!(bits & SL_PORT_WILDCARD))
		return 0;
	__builtin_memset(end.local, 0, 16);
	if (!a[0] && !a[1] && a[2] == bpf_htonl(0xffff))
		end.local[10] = end.local[11] = 0xff;
	return bpf_map_lookup_elem(&endpoints, &end) != 0;
}

/* Owners look every two seconds, at least. */
#define SL_HOLD_NS 5000000000ull

/* Has the flow a claim, or what it came by? Whether there is a connection of the endpoint's is not
 * known here: if nobody has said after hold_ns that it is his, there is none. Nor is it where there
 * is no claim, while the port has some or had: somebody may have taken one out of the maps by hand.
 * But a connection's segments bear ACK, and what answers to such a one does not: a reset with ACK
 * is the answer to a SYN, to a port where nobody listens, or not on that device
 * (SO_BINDTODEVICE). */
static __always_inline int sl_hold_back(const struct sl_flow_key *key, __u64 bits, __u64 hold_ns,
					int has_ack)
{
	struct sl_claim *claim = 0;

	if (bits & SL_PORT_FLOW)
		claim = bpf_map_lookup_elem(&flows, key);
	if (claim) {
		if (claim->flags & SL_CLAIM_PASS)
			return 0;
		sl_note_stray(key);
		return 1;
	}
	if (has_ack)
		return 0;
	if (!sl_is_end_claimed(key, bits))
		hold_ns = SL_HOLD_NS;
	return sl_note_stray(key) < hold_ns;
}

/* What the claims of the flow's local port are, 0: there is none, and nothing else is to be asked.
 */
static __always_inline __u64 sl_claims_of(const struct sl_flow_key *key)
{
	__u32 index = 65536 + key->local_port;
	__u64 *bits = bpf_map_lookup_elem(&ports, &index);

	return bits ? *bits & SL_PORT_BITS : 0;
}

/* An answer to nobody comes from a socket that has no port and no peer; or from the listener, which
 * newer kernels name as the socket that it is sent for. (One that was accepted, and is closed with
 * bytes unread, has given its port back already when it resets its peer.) */
static __always_inline int sl_is_of_socket(int state, __u32 port, __be16 peer, __u32 local,
					   __be16 remote)
{
	return state != BPF_TCP_LISTEN && (port == local || (!port && peer == remote));
}

#endif
