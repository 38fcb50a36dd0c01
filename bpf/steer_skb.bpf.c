/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The steering program for devices that receive by packet sockets (lib/io/packet.c). Runs where a
 * device receives (tcx), finds claims as steer.bpf.c does, by the same maps, and passes everything
 * else to the next program.
 *
 * Theory of operation: a claimed packet goes to the peer of the lane's private veth device, which
 * is in a network namespace of its own: bpf_redirect_peer() has it received there at once, in the
 * same softirq, and a packet socket takes it. Nothing else is there: `drop` ends the packet behind
 * the socket. The record takes the place of the Ethernet addresses, which have been checked. The
 * map of lanes has the numbers of the private devices: an entry goes when its device goes, which
 * the kernel deletes with the namespace when the process dies. */
#define SL_SKB
#include "parse.bpf.h"

#include <linux/pkt_cls.h>

#include "target.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, SL_MAX_XSKS);
	__type(key, __u32);
	__type(value, __u32);
} lanes SEC(".maps");

#define SL_OTHERHOST 3  /* PACKET_OTHERHOST: the namespace's stack does not look at the packet */
#define LINEAR_LEAST 74 /* Ethernet, IPv6, TCP */
#define LINEAR_PULL  256
/* Bytes of the longest packet: what IPv4's length can say, and the Ethernet header. */
#define PACKET_MOST (65535 + ETH_HLEN + 8)

/* The packet has a claim: writes its record and sends it to the lane's device. */
static __always_inline int redirect(struct __sk_buff *skb, const struct sl_view *p,
				    const struct target *t, struct sl_counters *c,
				    const struct sl_port_config *cfg)
{
	__u32 lane = t->lane, slot = t->slot, gen = t->gen, flags = t->flags, vlan, *dev;
	enum match match = veil(t->match, cfg, 3);
	struct sl_packet_record r = {.magic = SL_PACKET_MAGIC, .proto = p->proto};
	__u64 bytes = skb->len;
	int err;

	asm volatile("" : "+r"(lane), "+r"(slot), "+r"(gen), "+r"(flags)); /* of any map */
	vlan = SL_CLAIM_VLAN_NR(flags);
	r.flags = SL_META_VLAN(vlan) | (flags & SL_CLAIM_STAMP ? SL_META_SW : 0);
	r.l4_words = (p->l4 - p->l3) / 4;
	r.slot = slot;
	r.gen = gen;
	dev = bpf_map_lookup_elem(&lanes, &lane);
	if (cfg->vlans_left >> vlan & 1 || !dev) {
		c->pass_no_receiver++;
		return TC_ACT_UNSPEC;
	}
	if (skb->gso_size ? bytes > PACKET_MOST : bytes > cfg->room) {
		c->pass_large++;
		return TC_ACT_UNSPEC;
	}
	err = bpf_redirect_peer(*dev, 0);
	if (err != TC_ACT_REDIRECT || bpf_skb_store_bytes(skb, 0, &r, sizeof(r), 0)) {
		c->pass_unknown++;
		return TC_ACT_UNSPEC;
	}
	bpf_skb_change_type(skb, SL_OTHERHOST);
	count_redirect(c, match, bytes);
	return err;
}

/* Steers a packet to a port for which a look-up can succeed. */
static __always_inline int steer_port(struct __sk_buff *skb, struct sl_view *p, __u64 word,
				      struct sl_counters *c)
{
	struct sl_port_config *cfg;
	struct target t;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		goto miss;
	veil_all(skb, p, cfg);
	if (!is_for_us(p, cfg) || has_odd_source(p) || add_hidden_tag(skb, p) ||
	    find_target(skb, p, word, cfg, &t))
		goto miss;
	return redirect(skb, p, &t, c, cfg);
miss:
	c->pass_miss++;
	return TC_ACT_UNSPEC;
}

/* Steers an ICMP message, as steer_icmp() of steer.bpf.c does. */
__noinline int steer_skb_icmp(struct __sk_buff *skb, __u32 l3, __u32 l4, __u32 vlan, __u32 v6)
{
	struct sl_view p = sl_view(skb);
	enum match match = MATCH_NONE;
	struct sl_port_config *cfg;
	struct sl_counters *c;
	struct sl_claim *claim;
	struct target t;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		return TC_ACT_UNSPEC;
	p.l3 = sl_bounded(l3);
	p.l4 = sl_bounded(l4);
	p.vlan = vlan;
	p.v6 = v6;
	p.proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	claim = whose_error(skb, &p, cfg, &match);
	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c)
		return TC_ACT_UNSPEC;
	if (claim) {
		t = target_of(claim, match & 3);
		return redirect(skb, &p, &t, c, cfg);
	}
	c->pass_unknown++;
	return TC_ACT_UNSPEC;
}

/* Headers may lie in fragments of the packet, where a program cannot read them directly. (The
 * kernel would pull them itself, a moment later.) */
static __always_inline void pull_headers(struct __sk_buff *skb)
{
	__u32 linear = (__u32)(skb->data_end - skb->data);

	if (linear < LINEAR_LEAST && linear < skb->len)
		bpf_skb_pull_data(skb, skb->len < LINEAR_PULL ? skb->len : LINEAR_PULL);
}

SEC("tc")
int steer_skb(struct __sk_buff *skb)
{
	struct sl_counters *c;
	struct sl_view p;
	__u32 key = 0;
	__u64 *at, word;

	c = bpf_map_lookup_elem(&counters, &key);
	if (!c)
		return TC_ACT_UNSPEC;
	pull_headers(skb);
	p = sl_view(skb);
	switch (sl_parse(skb, &p)) {
	case SL_HDR_OK:
		break;
	case SL_HDR_NOT_IP:
		c->pass_not_ip++;
		return TC_ACT_UNSPEC;
	case SL_HDR_FRAGMENT:
		c->pass_fragment++;
		return TC_ACT_UNSPEC;
	case SL_HDR_ICMP:
		return steer_skb_icmp(skb, p.l3, p.l4, p.vlan, p.v6);
	default:
		c->pass_unknown++;
		return TC_ACT_UNSPEC;
	}
	key = p.dst_port + (p.proto == IPPROTO_TCP ? 65536 : 0);
	at = bpf_map_lookup_elem(&ports, &key);
	word = at ? *(volatile __u64 *)at : 0; /* read before the look-ups that rely on it */
	if (word & SL_L4_PORT_BITS)
		return steer_port(skb, &p, word, c);
	c->pass_miss++;
	return TC_ACT_UNSPEC;
}

/* Runs where the private device receives, behind the packet socket. */
SEC("tc")
int drop(struct __sk_buff *skb)
{
	return TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
