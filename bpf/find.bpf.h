/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Looks up the claim of a packet: by flow, by address and port, by port alone. */
#ifndef SL_FIND_BPF_H
#define SL_FIND_BPF_H

#include "parse.bpf.h"

#include "claims.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_MAX_LOCALS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_local_key);
	__type(value, __u32);
} locals SEC(".maps");

/* MATCH_GROUP is a bit added to another match: several sockets share the endpoint or wildcard. */
enum match { MATCH_NONE, MATCH_FLOW, MATCH_ENDPOINT, MATCH_WILDCARD, MATCH_GROUP };

/* Which end of a packet is this host: the destination of a packet that arrived, the source of one
 * that an ICMP error quotes. Our port is in dst_port in both cases. */
enum side { OUR_DST, OUR_SRC };

/* Reads one address in the form that the map keys have. Each is read when a look-up needs it: most
 * packets need only one. */
static __always_inline int load_addr(const struct sl_view *p, int src, __u32 a[4])
{
	if (p->v6) {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		__builtin_memcpy(a, src ? &ip->saddr : &ip->daddr, 16);
	} else {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		a[0] = a[1] = 0;
		a[2] = bpf_htonl(0xffff);
		a[3] = src ? ip->saddr : ip->daddr;
	}
	return 0;
}

static __always_inline int load_local(const struct sl_view *p, enum side ours, __u32 a[4])
{
	return load_addr(p, ours == OUR_SRC, a);
}

static __always_inline int load_remote(const struct sl_view *p, enum side ours, __u32 a[4])
{
	return load_addr(p, ours == OUR_DST, a);
}

static __always_inline int load_flow(const struct sl_view *p, enum side ours,
				     struct sl_flow_key *key)
{
	*key = (struct sl_flow_key){
		.local_port = p->dst_port,
		.remote_port = p->src_port,
		.proto = p->proto,
		.vlan = p->vlan,
	};
	return load_local(p, ours, (__u32 *)key->local) ||
	       load_remote(p, ours, (__u32 *)key->remote);
}

static __always_inline struct sl_claim *find_flow(const struct sl_view *p, enum side ours)
{
	struct sl_flow_key key;

	return load_flow(p, ours, &key) ? 0 : bpf_map_lookup_elem(&flows, &key);
}

/* Looks up the address and port, then the port alone if the address is one of this host. */
static __always_inline struct sl_claim *find_endpoint(const struct sl_view *p, enum side ours,
						      __u32 bits, enum match *match)
{
	struct sl_endpoint_key key = {
		.local_port = p->dst_port,
		.proto = p->proto,
		.vlan = p->vlan,
	};
	struct sl_claim *claim;

	if (load_local(p, ours, (__u32 *)key.local))
		return 0;
	if (bits & SL_L4_PORT_ENDPOINT) {
		*match = MATCH_ENDPOINT;
		claim = bpf_map_lookup_elem(&endpoints, &key);
		if (claim)
			return claim;
	}
	if (!(bits & SL_L4_PORT_WILDCARD) || !bpf_map_lookup_elem(&locals, key.local))
		return 0;
	*match = MATCH_WILDCARD;
	__builtin_memset(key.local, 0, 16);
	if (!p->v6)
		key.local[10] = key.local[11] = 0xff;
	return bpf_map_lookup_elem(&endpoints, &key);
}

/* Most specific first, as the kernel does: flow, address and port, port alone. */
static __always_inline struct sl_claim *find_claim(const struct sl_view *p, enum side ours,
						   __u32 bits, enum match *match)
{
	struct sl_claim *claim;

	if (bits & SL_L4_PORT_FLOW) {
		*match = MATCH_FLOW;
		claim = find_flow(p, ours);
		if (claim)
			return claim;
	}
	return find_endpoint(p, ours, bits, match);
}

#endif
