/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules: which queue gets a frame that arrives. A rule is kept as words of the frame that must have
 * certain values, so that the program at the veth's ingress (steal.c) compares the same. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/if_ether.h>
#include <sched.h>
#include <string.h>

#include "nic.h"
#include "sys.h"
#include "uverbs.h"

#define LAST_PRIORITY 15u
#define VXLAN_PORT    4789u
#define ETH_BYTES     14u
#define TYPE_AT       12u
#define TAG_BYTES     4u
#define VID_MASK      0xfffu

/* Where the specs of a rule are in a frame. */
struct layers {
	unsigned eth, l3, l4;
	bool v6, inner;
};

static int add(struct sim_flow *f, unsigned at, uint32_t mask, uint32_t value)
{
	if (!mask)
		return 0;
	if (f->nwords == SIM_FLOW_WORDS)
		return ENOSPC;
	f->word[f->nwords++] = (struct sim_flow_word){(uint16_t)at, mask, value & mask};
	return 0;
}

static int add_bytes(struct sim_flow *f, unsigned at, const void *value, const void *mask,
		     unsigned n)
{
	int err = 0;

	for (unsigned i = 0; i < n && !err; i += 4) {
		uint32_t v = 0, m = 0;
		unsigned k = n - i < 4 ? n - i : 4;

		memcpy(&v, (const uint8_t *)value + i, k);
		memcpy(&m, (const uint8_t *)mask + i, k);
		err = add(f, at + i, be32toh(m), be32toh(v));
	}
	return err;
}

static int parse_eth(struct sim_flow *f, struct layers *l, const struct ib_uverbs_flow_spec_eth *s)
{
	int err;

	if (s->mask.vlan_tag && (l->inner || s->mask.vlan_tag != htobe16(VID_MASK)))
		return EOPNOTSUPP;
	if (s->mask.vlan_tag) {
		f->vid_mask = VID_MASK;
		f->vid = be16toh(s->val.vlan_tag) & VID_MASK;
	}
	err = add_bytes(f, l->eth, s->val.dst_mac, s->mask.dst_mac, 6);
	if (!err)
		err = add_bytes(f, l->eth + 6, s->val.src_mac, s->mask.src_mac, 6);
	if (!err)
		err = add_bytes(f, l->eth + 12, &s->val.ether_type, &s->mask.ether_type, 2);
	if (!l->inner)
		f->several = s->mask.dst_mac[0] & s->val.dst_mac[0] & 1;
	return err;
}

/* (The device finds the transport's header of packets with options, too; this one does not.) */
static int parse_ipv4(struct sim_flow *f, struct layers *l,
		      const struct ib_uverbs_flow_spec_ipv4 *s)
{
	int err;

	if (s->mask.ttl || s->mask.flags || (s->mask.tos && sim_config.refuse & SIM_REFUSE_TOS))
		return EOPNOTSUPP;
	l->l4 = l->l3 + 20;
	err = add(f, l->eth + 12, 0xffffff00, 0x08004500);
	if (!err)
		err = add(f, l->l3, (uint32_t)s->mask.tos << 16, (uint32_t)s->val.tos << 16);
	if (!err)
		err = add(f, l->l3 + 6, s->mask.proto, s->val.proto);
	if (!err)
		err = add_bytes(f, l->l3 + 12, &s->val.src_ip, &s->mask.src_ip, 4);
	return err ? err : add_bytes(f, l->l3 + 16, &s->val.dst_ip, &s->mask.dst_ip, 4);
}

static int parse_ipv6(struct sim_flow *f, struct layers *l,
		      const struct ib_uverbs_flow_spec_ipv6 *s)
{
	uint32_t label = be32toh(s->mask.flow_label) & 0xfffff;
	int err;

	if (s->mask.hop_limit || (label && sim_config.refuse & SIM_REFUSE_LABEL) ||
	    (s->mask.traffic_class && sim_config.refuse & SIM_REFUSE_TOS))
		return EOPNOTSUPP;
	l->v6 = true;
	l->l4 = l->l3 + 40;
	err = add(f, l->eth + 12, 0xfffff000, 0x86dd6000);
	if (!err)
		err = add(f, l->l3, (uint32_t)s->mask.traffic_class << 20 | label,
			  (uint32_t)s->val.traffic_class << 20 | be32toh(s->val.flow_label));
	if (!err)
		err = add(f, l->l3 + 4, (uint32_t)s->mask.next_hdr << 8,
			  (uint32_t)s->val.next_hdr << 8);
	if (!err)
		err = add_bytes(f, l->l3 + 8, s->val.src_ip, s->mask.src_ip, 16);
	return err ? err : add_bytes(f, l->l3 + 24, s->val.dst_ip, s->mask.dst_ip, 16);
}

/* The device reads no ports out of fragments. */
static int parse_ports(struct sim_flow *f, const struct layers *l,
		       const struct ib_uverbs_flow_spec_tcp_udp *s)
{
	uint32_t proto = (s->type & 0xff) == IBV_FLOW_SPEC_TCP ? 6 : 17;
	int err;

	if (!l->l4)
		return EINVAL;
	err = l->v6 ? add(f, l->l3 + 4, 0xff00, proto << 8) : add(f, l->l3 + 6, 0x3fff00ff, proto);
	if (!err)
		err = add_bytes(f, l->l4, &s->val.src_port, &s->mask.src_port, 2);
	return err ? err : add(f, l->l4, be16toh(s->mask.dst_port), be16toh(s->val.dst_port));
}

static int parse_vxlan(struct sim_flow *f, struct layers *l,
		       const struct ib_uverbs_flow_spec_tunnel *s)
{
	int err;

	if (sim_config.refuse & SIM_REFUSE_TUNNEL)
		return EOPNOTSUPP;
	if (!l->l4 || l->inner)
		return EINVAL;
	err = add(f, l->l4, 0xffff, VXLAN_PORT);
	if (!err)
		err = add(f, l->l4 + 12, be32toh(s->mask.tunnel_id) << 8,
			  be32toh(s->val.tunnel_id) << 8);
	*l = (struct layers){.eth = l->l4 + 16, .l3 = l->l4 + 16 + ETH_BYTES, .inner = true};
	return err;
}

static int parse_tag(struct sim_flow *f, const struct ib_uverbs_flow_spec_action_tag *s)
{
	if (sim_config.refuse & SIM_REFUSE_TAG)
		return EOPNOTSUPP;
	f->tag = s->tag_id;
	return s->tag_id < 1u << 24 ? 0 : EINVAL;
}

static int parse_spec(struct sim_flow *f, struct layers *l, const void *spec, unsigned size)
{
	const struct ib_uverbs_flow_spec_hdr *h = spec;
	uint32_t type = h->type;

	if (!(type & IBV_FLOW_SPEC_INNER) == l->inner && type < IBV_FLOW_SPEC_ACTION_TAG)
		return EINVAL;
	switch (type & ~(uint32_t)IBV_FLOW_SPEC_INNER) {
	case IBV_FLOW_SPEC_ETH:
		return size == sizeof(struct ib_uverbs_flow_spec_eth) ? parse_eth(f, l, spec)
								      : EINVAL;
	case IBV_FLOW_SPEC_IPV4:
		return size == sizeof(struct ib_uverbs_flow_spec_ipv4) ? parse_ipv4(f, l, spec)
								       : EINVAL;
	case IBV_FLOW_SPEC_IPV6:
		return size == sizeof(struct ib_uverbs_flow_spec_ipv6) ? parse_ipv6(f, l, spec)
								       : EINVAL;
	case IBV_FLOW_SPEC_TCP:
	case IBV_FLOW_SPEC_UDP:
		return size == sizeof(struct ib_uverbs_flow_spec_tcp_udp) ? parse_ports(f, l, spec)
									  : EINVAL;
	case IBV_FLOW_SPEC_VXLAN_TUNNEL:
		return size == sizeof(struct ib_uverbs_flow_spec_tunnel) ? parse_vxlan(f, l, spec)
									 : EINVAL;
	case IBV_FLOW_SPEC_ACTION_TAG:
		return size == sizeof(struct ib_uverbs_flow_spec_action_tag) ? parse_tag(f, spec)
									     : EINVAL;
	}
	return EOPNOTSUPP;
}

int sim_flow_parse(struct sim_flow *f, const struct ib_uverbs_create_flow *in, size_t size)
{
	const uint8_t *at = (const void *)in->flow_attr.flow_specs;
	size_t left = size - sizeof(*in);
	struct layers l = {.l3 = ETH_BYTES};
	int err = 0;

	if (in->flow_attr.type != IBV_FLOW_ATTR_NORMAL || in->flow_attr.flags ||
	    in->flow_attr.port != 1 || in->flow_attr.priority > LAST_PRIORITY)
		return EINVAL;
	f->priority = in->flow_attr.priority;
	for (unsigned i = 0; i < in->flow_attr.num_of_specs && !err; i++) {
		const struct ib_uverbs_flow_spec_hdr *h = (const void *)at;

		if (left < sizeof(*h) || h->size < sizeof(*h) || h->size > left)
			return EINVAL;
		err = parse_spec(f, &l, at, h->size);
		at += h->size;
		left -= h->size;
	}
	return err;
}

/* The device --------------------------------------------------------------------------------------
 */

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* (The device looks behind the tag of 802.1Q, also for rules that ask for none.) */
static bool fits(const struct sim_flow *f, const struct sim_arrival *a)
{
	bool tagged = a->len > ETH_BYTES + TAG_BYTES && get16(a->frame + TYPE_AT) == ETH_P_8021Q;
	unsigned behind = tagged ? TAG_BYTES : 0;

	if (f->vid_mask && (!tagged || (get16(a->frame + ETH_BYTES) & f->vid_mask) != f->vid))
		return false;
	for (unsigned i = 0; i < f->nwords; i++) {
		const struct sim_flow_word *w = &f->word[i];
		unsigned at = w->at + (w->at < TYPE_AT ? 0 : behind);
		uint32_t v;

		if (at + 4u > a->len)
			return false;
		memcpy(&v, a->frame + at, 4);
		if ((be32toh(v) & w->mask) != w->value)
			return false;
	}
	return true;
}

static bool is_in_force(const struct sim_flow *f, const struct sim_arrival *a)
{
	uint64_t when = 0;

	if (!f->coming && !f->going)
		return f->since_ns <= a->real_ns;
	/* (A frame is here a little before it comes to the kernel's program.) */
	for (int i = 0; i < 100 && !(when = sim_steal_when()); i++)
		sched_yield();
	return f->coming ? when && a->real_ns >= when : !when || a->real_ns < when;
}

/* The first of the rules that fit the frame, of that queue, or of all if it is 0. */
static const struct sim_flow *find(const struct sim_arrival *a, uint32_t qp)
{
	const struct sim_flow *best = NULL;
	struct sim_obj *obj;
	uint32_t at = 0;

	while ((obj = sim_obj_next(&at, SIM_FLOW))) {
		const struct sim_flow *f = &obj->flow;

		if ((!qp || f->qp == qp) && (!best || f->priority < best->priority) && fits(f, a) &&
		    is_in_force(f, a))
			best = f;
	}
	return best;
}

static void deliver(const struct sim_flow *f, const struct sim_arrival *a)
{
	struct sim_obj *qp = sim_obj_get(f->qp, SIM_QP);

	if (qp)
		sim_rq_deliver(&qp->qp, a, f->tag);
}

void sim_flow_steer(const struct sim_arrival *a)
{
	const struct sim_flow *f = find(a, 0);
	struct sim_obj *obj;
	uint32_t at = 0;

	if (!f)
		return;
	if (!f->several) {
		deliver(f, a);
		return;
	}
	while ((obj = sim_obj_next(&at, SIM_QP)))
		if ((f = find(a, at)))
			deliver(f, a);
}
