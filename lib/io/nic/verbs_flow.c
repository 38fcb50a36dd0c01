/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a rule for claimed packets as ibv_create_flow(3) takes it: the specs from the Ethernet
 * header up to the ports, twice where the packets come in VXLAN, then the tag. */
#if __has_include(<infiniband/verbs.h>)
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "io/nic/verbs_rx_int.h"

#define DSCP_OF(word) ((word) >> 20 & 0x3fu)

/* Appends a spec. */
static void put(struct sl_verbs_flow *f, const void *spec, size_t size)
{
	memcpy(f->bytes + f->attr.size, spec, size);
	f->attr.size += (uint16_t)size;
	f->attr.num_of_specs++;
}

static bool is_v4(const uint8_t addr[16])
{
	const struct sl_addr a = sl_addr_of(addr);

	return sl_addr_is_v4(&a);
}

static void put_eth(struct sl_verbs_flow *f, const struct sl_verbs_rule *r, uint32_t inner)
{
	struct ibv_flow_spec_eth s = {.type = IBV_FLOW_SPEC_ETH | inner, .size = sizeof(s)};
	const struct sl_addr local = sl_addr_of(r->key.local);

	memset(s.mask.dst_mac, 0xff, sizeof(s.mask.dst_mac));
	if (sl_addr_is_multicast(&local))
		sl_addr_group_mac(&local, s.val.dst_mac);
	else
		memcpy(s.val.dst_mac, r->mac, sizeof(s.val.dst_mac));
	if (r->key.vlan && !inner) {
		s.val.vlan_tag = htobe16((uint16_t)r->key.vlan);
		s.mask.vlan_tag = htobe16(0xfff);
	}
	put(f, &s, sizeof(s));
}

static void put_ipv4(struct sl_verbs_flow *f, const struct sl_verbs_rule *r, uint32_t inner)
{
	const struct sl_flow_key *k = &r->key;
	struct ibv_flow_spec_ipv4_ext s = {.type = IBV_FLOW_SPEC_IPV4_EXT | inner,
					   .size = sizeof(s)};

	memcpy(&s.val.dst_ip, k->local + 12, 4);
	s.mask.dst_ip = UINT32_MAX;
	if (k->remote_port) {
		memcpy(&s.val.src_ip, k->remote + 12, 4);
		s.mask.src_ip = UINT32_MAX;
	}
	s.val.proto = k->proto;
	s.mask.proto = 0xff;
	s.val.tos = (uint8_t)(DSCP_OF(r->narrow.marks.word) << 2);
	s.mask.tos = (uint8_t)(DSCP_OF(r->narrow.mask.word) << 2);
	s.val.tos &= s.mask.tos;
	put(f, &s, sizeof(s));
}

static void put_ipv6(struct sl_verbs_flow *f, const struct sl_verbs_rule *r, uint32_t inner)
{
	const struct sl_flow_key *k = &r->key;
	struct ibv_flow_spec_ipv6 s = {.type = IBV_FLOW_SPEC_IPV6 | inner, .size = sizeof(s)};

	memcpy(s.val.dst_ip, k->local, 16);
	memset(s.mask.dst_ip, 0xff, 16);
	if (k->remote_port) {
		memcpy(s.val.src_ip, k->remote, 16);
		memset(s.mask.src_ip, 0xff, 16);
	}
	s.val.next_hdr = k->proto;
	s.mask.next_hdr = 0xff;
	s.mask.traffic_class = (uint8_t)(DSCP_OF(r->narrow.mask.word) << 2);
	s.val.traffic_class = (uint8_t)(DSCP_OF(r->narrow.marks.word) << 2) & s.mask.traffic_class;
	s.mask.flow_label = htobe32(r->narrow.mask.word & SL_MARKS_LABEL);
	s.val.flow_label = htobe32(r->narrow.marks.word & SL_MARKS_LABEL) & s.mask.flow_label;
	put(f, &s, sizeof(s));
}

static void put_ports(struct sl_verbs_flow *f, uint8_t proto, uint16_t local, uint16_t remote,
		      uint32_t inner)
{
	struct ibv_flow_spec_tcp_udp s = {
		.type = (proto == IPPROTO_TCP ? IBV_FLOW_SPEC_TCP : IBV_FLOW_SPEC_UDP) | inner,
		.size = sizeof(s),
		.val = {.dst_port = htobe16(local), .src_port = htobe16(remote)},
		.mask = {.dst_port = 0xffff, .src_port = remote ? 0xffff : 0},
	};

	put(f, &s, sizeof(s));
}

/* The outer packet of VXLAN is for any address: the device's own claims decide. */
static void put_outer(struct sl_verbs_flow *f, const struct sl_verbs_rule *r, bool v6)
{
	struct ibv_flow_spec_ipv4_ext four = {.type = IBV_FLOW_SPEC_IPV4_EXT,
					      .size = sizeof(four),
					      .val.proto = IPPROTO_UDP,
					      .mask.proto = 0xff};
	struct ibv_flow_spec_ipv6 six = {.type = IBV_FLOW_SPEC_IPV6,
					 .size = sizeof(six),
					 .val.next_hdr = IPPROTO_UDP,
					 .mask.next_hdr = 0xff};
	struct ibv_flow_spec_tunnel vxlan = {
		.type = IBV_FLOW_SPEC_VXLAN_TUNNEL,
		.size = sizeof(vxlan),
		.val.tunnel_id = htobe32(SL_VXLAN_TAG_VNI(r->key.vlan)),
		.mask.tunnel_id = htobe32(0xffffff),
	};

	if (v6)
		put(f, &six, sizeof(six));
	else
		put(f, &four, sizeof(four));
	put_ports(f, IPPROTO_UDP, r->vxlan_port, 0, 0);
	put(f, &vxlan, sizeof(vxlan));
}

bool sl_verbs_flow_build(struct sl_verbs_flow *f, const struct sl_verbs_rule *r, uint32_t tag,
			 bool outer6)
{
	bool v4 = is_v4(r->key.local);
	uint32_t inner = r->key.vlan & SL_VXLAN_TAG_BIT ? IBV_FLOW_SPEC_INNER : 0;

	memset(f, 0, sizeof(*f));
	if (r->narrow.mask.word & SL_MARKS_V4 && !(r->narrow.marks.word & SL_MARKS_V4) == v4)
		return false;
	f->attr.type = IBV_FLOW_ATTR_NORMAL;
	f->attr.size = sizeof(f->attr);
	f->attr.priority = r->priority;
	f->attr.port = 1;
	if (inner)
		put_outer(f, r, outer6);
	put_eth(f, r, inner);
	if (v4)
		put_ipv4(f, r, inner);
	else
		put_ipv6(f, r, inner);
	put_ports(f, r->key.proto, r->key.local_port, r->key.remote_port, inner);
	if (tag) {
		struct ibv_flow_spec_action_tag s = {
			.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(s), .tag_id = tag};

		put(f, &s, sizeof(s));
	}
	return true;
}
#endif
