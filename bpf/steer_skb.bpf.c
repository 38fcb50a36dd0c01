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

/* Packet sockets tell of a packet that stands for several datagrams (Linux 6.2); earlier ones drop
 * it. */
const volatile __u8 has_udp_gso = 1;

/* PACKET_OTHERHOST: the namespace's stack does not look at the packet. (Since 6.15 the kernel takes
 * the type back, and IPv4's version ends it.) */
#define SL_OTHERHOST 3
#define HEAD_BYTES   (ETH_HLEN + 1)
#define LINEAR_LEAST 74 /* Ethernet, IPv6, TCP */
#define LINEAR_PULL  256
/* Bytes of the longest packet: the most that IPv4's length can say, an Ethernet header and two VLAN
 * tags. */
#define PACKET_MOST (65535 + ETH_HLEN + 8)

/* The record of a packet of that many bytes. NULL: the packet is the kernel's; else its lane's
 * device. */
static __always_inline const __u32 *prepare(struct sl_packet_record *r, const struct sl_view *p,
					    const struct target *t, struct sl_counters *c,
					    const struct sl_port_config *cfg, __u64 bytes, int gso)
{
	__u32 lane = t->lane, slot = t->slot, gen = t->gen, flags = t->flags, vlan, *dev;

	asm volatile("" : "+r"(lane), "+r"(slot), "+r"(gen), "+r"(flags)); /* hide their source */
	vlan = SL_CLAIM_VLAN_NR(flags);
	r->flags = SL_META_VLAN(vlan) | (flags & SL_CLAIM_STAMP ? SL_META_SW : 0);
	r->l4_words = (p->l4 - p->l3) / 4;
	r->slot = slot;
	r->gen = gen;
	dev = bpf_map_lookup_elem(&lanes, &lane);
	if (cfg->vlans_left >> vlan & 1 || !dev) {
		c->pass_no_receiver++;
		return 0;
	}
	if ((gso ? bytes > PACKET_MOST : bytes > cfg->room) ||
	    (gso && !has_udp_gso && p->proto == IPPROTO_UDP)) {
		c->pass_large++;
		return 0;
	}
	return dev;
}

/* BPF_F_ADJ_ROOM_DECAP_L3_*, Linux 6.3: what the packet is afterwards. */
#define SL_TO_IPV4 (1u << 7)
#define SL_TO_IPV6 (1u << 8)

/* The packet has a claim: writes its record and sends it to the lane's device. */
static __always_inline int redirect(struct __sk_buff *skb, const struct sl_view *p,
				    const struct target *t, struct sl_counters *c,
				    const struct sl_port_config *cfg)
{
	struct {
		struct sl_packet_record r;
		__be16 type;
		__u8 ip;
	} head = {.r = {.magic = SL_PACKET_MAGIC, .proto = p->proto}};
	enum match match = veil(t->match, cfg, 3);
	__u64 bytes = skb->len;
	const __u32 *dev = prepare(&head.r, p, t, c, cfg, bytes, !!skb->gso_size);
	const __u8 *pkt = p->data;
	int err;

	if (!dev || (const void *)(pkt + HEAD_BYTES) > p->data_end)
		return SL_PASS;
	/* (A length that depends on the packet would cost the verifier twice the steps.) */
	head.type = *(const __be16 *)(pkt + 2 * ETH_ALEN);
	head.ip = pkt[ETH_HLEN];
	if (head.type == bpf_htons(ETH_P_IP))
		head.ip &= 0xf;
	err = bpf_redirect_peer(*dev, 0);
	if (err != TC_ACT_REDIRECT || bpf_skb_store_bytes(skb, 0, &head, HEAD_BYTES, 0)) {
		c->pass_unknown++;
		return SL_PASS;
	}
	bpf_skb_change_type(skb, SL_OTHERHOST);
	count_redirect(c, match, bytes);
	return err;
}

/* Marks the inner packet, whose IP header is the frame's first now, as the outer one was. */
static __always_inline int mark_inner(struct __sk_buff *skb, int v6)
{
	struct iphdr ip;
	__u8 class;

	if (v6) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + 1, &class, 1))
			return -1;
		class |= SL_CE << 4;
		return bpf_skb_store_bytes(skb, ETH_HLEN + 1, &class, 1, BPF_F_RECOMPUTE_CSUM);
	}
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return -1;
	ip.check = sl_fold((__u64)ip.check + (__u16)~bpf_htons(SL_CE - (ip.tos & SL_CE)));
	ip.tos |= SL_CE;
	return bpf_skb_store_bytes(skb, ETH_HLEN, &ip, sizeof(ip), BPF_F_RECOMPUTE_CSUM);
}

/* The outer Ethernet header stays, for the record, and gets the inner packet's type. What the
 * kernel knows of a packet that it has not cut yet, or has put together, is about the inner one,
 * and stays true; where the checksum begins that is still to be made, too. A checksum that the NIC
 * found good was the outer one: the helper forgets about it. */
static __always_inline int redirect_inner(struct __sk_buff *skb, const struct sl_view *p,
					  const struct target *t, struct sl_counters *c,
					  const struct sl_port_config *cfg, __u64 opened)
{
	struct {
		struct sl_packet_record r;
		__be16 type;
	} head = {.r = {.magic = SL_PACKET_MAGIC, .proto = p->proto}};
	enum match match = veil(t->match, cfg, 3);
	__u32 cut = begin_of(opened);
	__u64 bytes = skb->len - cut;
	const __u32 *dev = prepare(&head.r, p, t, c, cfg, bytes, !!skb->gso_size);

	if (!dev)
		return SL_PASS;
	head.type = p->v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	if (bpf_skb_adjust_room(skb, -(__s32)cut, BPF_ADJ_ROOM_MAC,
				BPF_F_ADJ_ROOM_FIXED_GSO | (p->v6 ? SL_TO_IPV6 : SL_TO_IPV4))) {
		c->pass_unknown++;
		return SL_PASS;
	}
	if ((opened >> 50 & 1 && mark_inner(skb, p->v6)) ||
	    bpf_skb_store_bytes(skb, 0, &head, ETH_HLEN, 0))
		return TC_ACT_SHOT;
	bpf_skb_change_type(skb, SL_OTHERHOST);
	count_redirect(c, match, bytes);
	return bpf_redirect_peer(*dev, 0);
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
