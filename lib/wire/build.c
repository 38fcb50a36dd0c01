/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers to be sent: built once for a path, completed for each packet. */
#include "wire/wire.h"

#include <endian.h>

#include "wire/csum.h"
#include "wire/tcp_seg.h"

#include "steer.h"

uint64_t sl_pseudo_sum(const struct sl_addr *src, const struct sl_addr *dst, uint8_t proto,
		       uint16_t len)
{
	uint64_t sum = htobe16(proto);

	sum += htobe16(len);
	if (sl_addr_is_v4(dst))
		return sum + src->w[3] + dst->w[3];
	for (int i = 0; i < 4; i++)
		sum += (uint64_t)src->w[i] + dst->w[i];
	return sum;
}

static uint8_t *put_vlan(uint8_t *p, uint32_t tag, uint8_t pcp)
{
	sl_put_be16(p, tag & SL_VLAN_AD ? ETH_P_8021AD : ETH_P_8021Q);
	sl_put_be16(p + 2, (uint16_t)((pcp & 7) << 13 | (tag & 0xfff)));
	return p + 4;
}

static uint8_t *put_ethernet(uint8_t *p, const struct sl_udp_build *b, bool v6)
{
	memcpy(p, b->dmac, 6);
	memcpy(p + 6, b->smac, 6);
	p += 12;
	if (b->vlan >> 16)
		p = put_vlan(p, b->vlan >> 16, b->pcp >> 4);
	if (b->vlan)
		p = put_vlan(p, b->vlan & 0xffff, b->pcp);
	sl_put_be16(p, v6 ? ETH_P_IPV6 : ETH_P_IP);
	return p + 2;
}

uint8_t *sl_put_ipv4(uint8_t *p, const struct sl_addr *src, const struct sl_addr *dst, uint32_t tos,
		     uint8_t proto, uint8_t ttl)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tos = (uint8_t)tos,
		.frag_off = tos & SL_IP4_DF ? htobe16(0x4000) : 0,
		.ttl = ttl,
		.protocol = proto,
		.saddr = src->w[3],
		.daddr = dst->w[3],
	};

	memcpy(p, &ip, sizeof(ip));
	return p + sizeof(ip);
}

uint8_t *sl_put_ipv6(uint8_t *p, const struct sl_addr *src, const struct sl_addr *dst,
		     uint32_t flow, uint8_t proto, uint8_t ttl)
{
	uint32_t first = htobe32(6u << 28 | flow);

	memcpy(p, &first, 4);
	p[4] = p[5] = 0;
	p[6] = proto;
	p[7] = ttl;
	memcpy(p + 8, src->b, 16);
	memcpy(p + 24, dst->b, 16);
	return p + 40;
}

static uint8_t *put_ipv4(uint8_t *p, const struct sl_udp_build *b, uint8_t proto)
{
	uint32_t tos = b->tos | (b->df ? SL_IP4_DF : 0);

	return sl_put_ipv4(p, &b->src, &b->dst, tos, proto, b->ttl);
}

static uint8_t *put_ipv6(uint8_t *p, const struct sl_udp_build *b, uint8_t proto)
{
	uint32_t flow = (uint32_t)b->tos << 20 | (b->flowlabel & 0xfffff);

	return sl_put_ipv6(p, &b->src, &b->dst, flow, proto, b->ttl);
}

void sl_build_udp_hdr(struct sl_udp_hdr *h, const struct sl_udp_build *b)
{
	uint8_t *p = h->bytes;

	memset(h, 0, sizeof(*h));
	h->v6 = !sl_addr_is_v4(&b->dst);
	p = put_ethernet(p, b, h->v6);
	h->l3 = (uint8_t)(p - h->bytes);
	p = h->v6 ? put_ipv6(p, b, IPPROTO_UDP) : put_ipv4(p, b, IPPROTO_UDP);
	h->l4 = (uint8_t)(p - h->bytes);
	sl_put_be16(p, b->sport);
	sl_put_be16(p + 2, b->dport);
	h->len = (uint8_t)(p + 8 - h->bytes);
	if (!h->v6)
		h->ip_sum = sl_csum_add(0, h->bytes + h->l3, 20);
	h->pseudo_sum = sl_pseudo_sum(&b->src, &b->dst, IPPROTO_UDP, 0);
}

uint8_t *sl_build_udp(const struct sl_udp_hdr *h, uint8_t *payload, uint16_t len, uint16_t ip_id,
		      uint64_t sum)
{
	uint8_t *f = payload - h->len;
	uint16_t ulen = (uint16_t)(len + 8), be_ulen = htobe16(ulen), csum = 0, v;

	/* Constant bounds let the compiler use a few wide moves. */
	if (h->len == 42)
		memcpy(f, h->bytes, 42);
	else
		memcpy(f, h->bytes, h->len);
	if (h->v6) {
		memcpy(f + h->l3 + 4, &be_ulen, 2);
	} else {
		uint16_t be_total = htobe16((uint16_t)(ulen + 20)), be_id = htobe16(ip_id);

		v = sl_csum_fold(h->ip_sum + be_total + be_id);
		memcpy(f + h->l3 + 2, &be_total, 2);
		memcpy(f + h->l3 + 4, &be_id, 2);
		memcpy(f + h->l3 + 10, &v, 2);
	}
	memcpy(f + h->l4 + 4, &be_ulen, 2);
	if (sum != SL_CSUM_NONE) {
		/* The length stands in the pseudo-header and in the header. */
		uint64_t s = h->pseudo_sum + be_ulen + be_ulen;

		memcpy(&v, f + h->l4, 2);
		s += v;
		memcpy(&v, f + h->l4 + 2, 2);
		csum = sl_csum_fold(sl_csum_add64(sum, s + v));
		if (csum == 0)
			csum = 0xffff; /* RFC 768: zero means none */
	}
	memcpy(f + h->l4 + 6, &csum, 2);
	return f;
}

void sl_build_tcp_hdr(struct sl_tcp_hdr *h, const struct sl_udp_build *b)
{
	struct sl_udp_build ip = *b;
	uint8_t *p = h->bytes;

	memset(h, 0, sizeof(*h));
	ip.tos &= 0xfc; /* ECN is TCP's own (RFC 3168 6.1) */
	h->v6 = !sl_addr_is_v4(&b->dst);
	p = put_ethernet(p, b, h->v6);
	h->l3 = (uint8_t)(p - h->bytes);
	p = h->v6 ? put_ipv6(p, &ip, IPPROTO_TCP) : put_ipv4(p, &ip, IPPROTO_TCP);
	h->l4 = (uint8_t)(p - h->bytes);
	sl_put_be16(p, b->sport);
	sl_put_be16(p + 2, b->dport);
	h->len = (uint8_t)(p + 4 - h->bytes);
	if (!h->v6)
		h->ip_sum = sl_csum_add(0, h->bytes + h->l3, 20);
	h->pseudo_sum = sl_csum_add(sl_pseudo_sum(&b->src, &b->dst, IPPROTO_TCP, 0), p, 4);
}

/* Fills in the fields of the IP header that differ by packet; l4_len: bytes behind it. */
static void finish_tcp_ip(const struct sl_tcp_hdr *h, uint8_t *ip, uint16_t l4_len, uint16_t ip_id,
			  bool ect)
{
	uint16_t be_len = htobe16(l4_len), be_id = htobe16(ip_id), v;

	if (h->v6) {
		memcpy(ip + 4, &be_len, 2);
		if (ect)
			ip[1] |= 2 << 4;
		return;
	}
	be_len = htobe16((uint16_t)(l4_len + 20));
	v = sl_csum_fold(h->ip_sum + be_len + be_id + (ect ? htobe16(2) : 0));
	memcpy(ip + 2, &be_len, 2);
	memcpy(ip + 4, &be_id, 2);
	memcpy(ip + 10, &v, 2);
	if (ect)
		ip[1] |= 2;
}

uint8_t *sl_build_tcp(const struct sl_tcp_hdr *h, const struct sl_tcp_seg *s, uint8_t *payload,
		      uint16_t ip_id, uint64_t sum)
{
	uint16_t hlen = (uint16_t)(20 + sl_tcpopt_len(s)), l4_len = (uint16_t)(hlen + s->len), v;
	uint8_t *tcp = payload - hlen, *f = tcp - h->l4;
	uint32_t w[4] = {
		htobe32(s->seq),
		htobe32(s->ack),
		htobe32((uint32_t)hlen / 4 << 28 | (uint32_t)s->flags << 16 | s->wnd),
		htobe32(s->urg),
	};

	/* Constant bounds let the compiler use a few wide moves. */
	if (h->len == 38)
		memcpy(f, h->bytes, 38);
	else
		memcpy(f, h->bytes, h->len);
	finish_tcp_ip(h, f + h->l3, l4_len, ip_id, s->ce);
	memcpy(tcp + 4, w, sizeof(w));
	if (sum == SL_CSUM_NONE) {
		sl_tcpopt_build(s, tcp + 20);
		return f;
	}
	/* The ports are in the pseudo-header's sum. */
	sum = sl_csum_add64(sl_csum_add64(sum, h->pseudo_sum), htobe16(l4_len));
	sum = sl_csum_add64(sum, (uint64_t)w[0] + w[1] + w[2] + w[3]);
	if (hlen > 20) {
		sl_tcpopt_build(s, tcp + 20);
		if (sl_likely(hlen == 32)) /* time stamps */
			sum = sl_csum_add64(sum, sl_csum_words(tcp + 20, 3));
		else
			sum = sl_csum_add(sum, tcp + 20, (size_t)hlen - 20);
	}
	v = sl_csum_fold(sum);
	memcpy(tcp + 16, &v, 2);
	return f;
}
