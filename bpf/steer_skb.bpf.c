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
/* Bytes of the longest packet: the most that IPv4's length can say, an Ethernet header and two VLAN
 * tags. */
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

	asm volatile("" : "+r"(lane), "+r"(slot), "+r"(gen), "+r"(flags)); /* hide their source */
	vlan = SL_CLAIM_VLAN_NR(flags);
	r.flags = SL_META_VLAN(vlan) | (flags & SL_CLAIM_STAMP ? SL_META_SW : 0);
	r.l4_words = (p->l4 - p->l3) / 4;
	r.slot = slot;
	r.gen = gen;
	dev = bpf_map_lookup_elem(&lanes, &lane);
	if (cfg->vlans_left >> vlan & 1 || !dev) {
		c->pass_no_receiver++;
		return SL_PASS;
	}
	if (skb->gso_size ? bytes > PACKET_MOST : bytes > cfg->room) {
		c->pass_large++;
		return SL_PASS;
	}
	err = bpf_redirect_peer(*dev, 0);
	if (err != TC_ACT_REDIRECT || bpf_skb_store_bytes(skb, 0, &r, sizeof(r), 0)) {
		c->pass_unknown++;
		return SL_PASS;
	}
	bpf_skb_change_type(skb, SL_OTHERHOST);
	count_redirect(c, match, bytes);
	return err;
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
	struct sl_view p;

	make_room();
	pull_headers(skb);
	p = sl_view(skb);
	return steer_packet(skb, &p);
}

char _license[] SEC("license") = "Dual BSD/GPL";
