/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers to be sent: built once for a path, completed for each packet. */
#include "wire/wire.h"

#include <endian.h>

#include "wire/csum.h"

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

static uint8_t *put_vlan(uint8_t *p, uint16_t tpid, uint32_t vid)
{
	sl_put_be16(p, tpid);
	sl_put_be16(p + 2, (uint16_t)(vid & 0xfff));
	return p + 4;
}

static uint8_t *put_ethernet(uint8_t *p, const struct sl_udp_build *b, bool v6)
{
	memcpy(p, b->dmac, 6);
	memcpy(p + 6, b->smac, 6);
	p += 12;
	if (b->vlan >> 16)
		p = put_vlan(p, ETH_P_8021AD, b->vlan >> 16);
	if (b->vlan)
		p = put_vlan(p, ETH_P_8021Q, b->vlan & 0xffff);
	sl_put_be16(p, v6 ? ETH_P_IPV6 : ETH_P_IP);
	return p + 2;
}

static uint8_t *put_ipv4(uint8_t *p, const struct sl_udp_build *b)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tos = b->tos,
		.frag_off = b->df ? htobe16(0x4000) : 0,
		.ttl = b->ttl,
		.protocol = IPPROTO_UDP,
		.saddr = b->src.w[3],
		.daddr = b->dst.w[3],
	};

	memcpy(p, &ip, sizeof(ip));
	return p + sizeof(ip);
}

static uint8_t *put_ipv6(uint8_t *p, const struct sl_udp_build *b)
{
	uint32_t first = htobe32(6u << 28 | (uint32_t)b->tos << 20 | (b->flowlabel & 0xfffff));

	memcpy(p, &first, 4);
	p[4] = p[5] = 0;
	p[6] = IPPROTO_UDP;
	p[7] = b->ttl;
	memcpy(p + 8, b->src.b, 16);
	memcpy(p + 24, b->dst.b, 16);
	return p + 40;
}

void sl_build_udp_hdr(struct sl_udp_hdr *h, const struct sl_udp_build *b)
{
	uint8_t *p = h->bytes;

	memset(h, 0, sizeof(*h));
	h->v6 = !sl_addr_is_v4(&b->dst);
	p = put_ethernet(p, b, h->v6);
	h->l3 = (uint8_t)(p - h->bytes);
	p = h->v6 ? put_ipv6(p, b) : put_ipv4(p, b);
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
