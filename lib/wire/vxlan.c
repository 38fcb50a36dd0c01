/* SPDX-License-Identifier: BSD-2-Clause */
/* Wraps frames in VXLAN, as the kernel does (vxlan_xmit_one(), udp_tunnel_xmit_skb()). */
#include "wire/vxlan.h"

#include <endian.h>
#include <string.h>

#include "wire/csum.h"

#define VXLAN_FLAGS 0x08000000 /* the VNI is there, and nothing else */
#define ECN         3

static uint8_t *put_ip(uint8_t *p, const struct sl_vxlan_build *b, bool v6)
{
	uint32_t tos = b->tos & ~ECN;

	if (v6)
		return sl_put_ipv6(p, &b->src, &b->dst, tos << 20 | b->label, IPPROTO_UDP, b->ttl);
	return sl_put_ipv4(p, &b->src, &b->dst, tos | (b->df ? SL_IP4_DF : 0), IPPROTO_UDP, b->ttl);
}

void sl_build_vxlan_hdr(struct sl_vxlan_hdr *h, const struct sl_vxlan_build *b)
{
	uint32_t w[2] = {htobe32(VXLAN_FLAGS), htobe32(b->vni << 8)};
	uint8_t *p = h->bytes;

	memset(h, 0, sizeof(*h));
	h->v6 = !sl_addr_is_v4(&b->dst);
	h->sum = b->sum;
	h->inner_tos = b->inner_tos;
	h->inner_ttl = b->inner_ttl;
	h->inner_df = b->inner_df;
	h->mtu = b->mtu;
	h->port_min = b->port_min;
	h->port_span = (uint16_t)(b->port_max - b->port_min);
	h->secret = b->secret;
	memcpy(p, b->dmac, 6);
	memcpy(p + 6, b->smac, 6);
	sl_put_be16(p + 12, h->v6 ? ETH_P_IPV6 : ETH_P_IP);
	p = put_ip(p + 14, b, h->v6);
	sl_put_be16(p, 0);
	sl_put_be16(p + 2, b->dport);
	sl_put_be16(p + 4, 0);
	sl_put_be16(p + 6, 0);
	memcpy(p + 8, w, sizeof(w));
	h->len = (uint8_t)(p + 16 - h->bytes);
	h->udp_sum = sl_csum_add(sl_pseudo_sum(&b->src, &b->dst, IPPROTO_UDP, 0), p, 16);
}

/* The inner packet, as far as the outer headers depend on it. */
struct within {
	uint8_t tos, ttl;
	bool df;
	uint64_t hash; /* of the flow */
	uint64_t sum;  /* of the whole frame */
};

/* The sum of the transport's header and payload. The checksum in the header makes it the complement
 * of the pseudo-header's, so the bytes need not be read. */
static uint64_t sum_of(const uint8_t *l4, uint16_t n, uint8_t proto, uint64_t pseudo)
{
	if (proto == IPPROTO_UDP && !(l4[6] | l4[7]))
		return sl_csum_add(0, l4, n);
	return sl_csum_fold(pseudo + htobe16(n) + htobe16(proto));
}

/* False: another form than what the library sends. */
static bool look4(const struct sl_vxlan_hdr *h, const uint8_t *eth, uint16_t n, struct within *in)
{
	const uint8_t *l3 = eth + 14, *l4 = l3 + 20;
	uint32_t ends[2], ports;

	if (n < 14 + 20 + 8 || l3[0] != 0x45 || sl_get_be16(l3 + 2) + 14 != n ||
	    sl_get_be16(l3 + 6) & 0x3fff || (l3[9] != IPPROTO_UDP && l3[9] != IPPROTO_TCP))
		return false;
	memcpy(ends, l3 + 12, sizeof(ends));
	memcpy(&ports, l4, sizeof(ports));
	in->tos = l3[1];
	in->ttl = l3[8];
	in->df = l3[6] & 0x40;
	in->hash = sl_mix(sl_mix(*h->secret, (uint64_t)ends[0] << 32 | ends[1]),
			  (uint64_t)l3[9] << 32 | ports);
	if (h->sum) /* (the IP header's own sum is -0) */
		in->sum = sum_of(l4, (uint16_t)(n - 34), l3[9], (uint64_t)ends[0] + ends[1]);
	return true;
}

static bool look6(const struct sl_vxlan_hdr *h, const uint8_t *eth, uint16_t n, struct within *in)
{
	const uint8_t *l3 = eth + 14, *l4 = l3 + 40;
	struct sl_addr ends[2];
	uint32_t ports;

	if (n < 14 + 40 + 8 || l3[0] >> 4 != 6 || sl_get_be16(l3 + 4) + 54 != n ||
	    (l3[6] != IPPROTO_UDP && l3[6] != IPPROTO_TCP))
		return false;
	memcpy(ends, l3 + 8, sizeof(ends));
	memcpy(&ports, l4, sizeof(ports));
	in->tos = (uint8_t)(l3[0] << 4 | l3[1] >> 4);
	in->ttl = l3[7];
	in->df = true;
	in->hash = sl_mix(sl_addr_mix(sl_addr_mix(*h->secret, &ends[0]), &ends[1]),
			  (uint64_t)l3[6] << 32 | ports);
	if (h->sum)
		in->sum = sl_csum_words(l3, 10) +
			  sum_of(l4, (uint16_t)(n - 54), l3[6], sl_csum_words(l3 + 8, 8));
	return true;
}

/* INET_ECN_encapsulate(), RFC 6040 4.1: a mark of congestion inside is not repeated outside. */
static uint8_t ecn_of(uint8_t tos)
{
	return (tos & ECN) == ECN ? 2 : tos & ECN;
}

static void finish4(const struct sl_vxlan_hdr *h, uint8_t *ip, uint16_t udp, uint16_t ip_id,
		    const struct within *in)
{
	uint16_t v;

	ip[1] = (uint8_t)((h->inner_tos ? in->tos & ~ECN : ip[1]) | ecn_of(in->tos));
	sl_put_be16(ip + 2, (uint16_t)(udp + 20));
	sl_put_be16(ip + 4, ip_id);
	if (h->inner_df && in->df)
		ip[6] |= 0x40;
	if (h->inner_ttl)
		ip[8] = in->ttl;
	v = sl_csum_fold(sl_csum_words(ip, 5));
	memcpy(ip + 10, &v, 2);
}

static void finish6(const struct sl_vxlan_hdr *h, uint8_t *ip, uint16_t udp,
		    const struct within *in)
{
	uint8_t tos = ecn_of(in->tos);

	if (h->inner_tos) {
		tos |= in->tos & (uint8_t)~ECN;
		ip[0] |= tos >> 4;
	}
	ip[1] |= (uint8_t)(tos << 4);
	sl_put_be16(ip + 4, udp);
	if (h->inner_ttl)
		ip[7] = in->ttl;
}

unsigned sl_build_vxlan(const struct sl_vxlan_hdr *h, uint8_t *inner, uint16_t n, unsigned room,
			uint16_t ip_id)
{
	uint16_t type = sl_get_be16(inner + 12), udp = (uint16_t)(n + 16), v;
	uint8_t *f = inner - h->len, *l4 = inner - 16;
	struct within in = {0};
	uint32_t hash;
	uint64_t sum;

	if (sl_unlikely(!h->len || room < h->len || (uint32_t)n + h->len - 14u > h->mtu))
		return 0;
	if (sl_unlikely(type == ETH_P_IP ? !look4(h, inner, n, &in)
					 : type != ETH_P_IPV6 || !look6(h, inner, n, &in)))
		return 0;
	if (h->len == 50)
		memcpy(f, h->bytes, 50);
	else
		memcpy(f, h->bytes, h->len);
	if (h->v6)
		finish6(h, f + 14, udp, &in);
	else
		finish4(h, f + 14, udp, ip_id, &in);
	hash = (uint32_t)(in.hash >> 32); /* udp_flow_src_port() */
	sl_put_be16(l4, (uint16_t)(h->port_min + ((uint64_t)hash * h->port_span >> 32)));
	sl_put_be16(l4 + 4, udp);
	if (!h->sum)
		return h->len;
	memcpy(&v, l4, 2);
	sum = h->udp_sum + in.sum + v + 2u * htobe16(udp) + sl_csum_words(inner, 3);
	memcpy(&v, inner + 12, 2);
	v = sl_csum_fold(sum + v);
	if (!v)
		v = 0xffff;
	memcpy(l4 + 6, &v, 2);
	return h->len;
}
