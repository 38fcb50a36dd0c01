/* SPDX-License-Identifier: BSD-2-Clause */
/* Received bytes: nothing in them, and nothing the steering program says, is trusted. */
#include "wire/wire.h"

#include "wire/csum.h"

static bool parse_ipv4(struct sl_pkt *p, uint32_t *end)
{
	const uint8_t *h = p->data + p->l3;
	uint32_t ihl, total;

	if (p->l3 + sizeof(struct iphdr) > p->len || h[0] >> 4 != 4)
		return false;
	ihl = (h[0] & 15) * 4u;
	total = sl_get_be16(h + 2);
	if (ihl < 20 || p->l3 + ihl != p->l4 || total < ihl || p->l3 + total > p->len)
		return false;
	if (sl_get_be16(h + 6) & 0x3fff) /* a fragment */
		return false;
	p->tos = h[1];
	p->ttl = h[8];
	*end = p->l3 + total;
	return h[9] == IPPROTO_UDP;
}

static bool parse_ipv6(struct sl_pkt *p, uint32_t *end)
{
	const uint8_t *h = p->data + p->l3;

	if (p->l3 + sizeof(struct ipv6hdr) > p->len || p->l4 < p->l3 + sizeof(struct ipv6hdr))
		return false;
	*end = p->l3 + (uint32_t)sizeof(struct ipv6hdr) + sl_get_be16(h + 4);
	p->tos = (uint8_t)(h[0] << 4 | h[1] >> 4);
	p->ttl = h[7];
	/* Extension headers were walked by the steering program; a wrong l4 fails the checksum,
	 * which covers the addresses, the protocol and the length. */
	return *end <= p->len;
}

/* The checksum field holds the pseudo-header sum, not complemented: the sender's device was to
 * finish it and never had to (Linux: CHECKSUM_PARTIAL). */
static bool is_partial(const uint8_t *udp, uint64_t pseudo)
{
	uint16_t field;

	memcpy(&field, udp + 6, 2);
	return (uint16_t)(field ^ sl_csum_fold(pseudo)) == 0xffff;
}

enum sl_parse_result sl_parse_udp(struct sl_pkt *p, bool partial_ok)
{
	struct sl_addr src, dst;
	const uint8_t *udp;
	uint64_t pseudo;
	uint32_t end;
	uint16_t ulen;

	if (p->l3 < 14 || p->l3 >= p->len)
		return SL_PARSE_LEN;
	p->v6 = p->data[p->l3] >> 4 == 6;
	if (!(p->v6 ? parse_ipv6(p, &end) : parse_ipv4(p, &end)) || p->l4 + 8u > end)
		return SL_PARSE_LEN;
	udp = p->data + p->l4;
	ulen = sl_get_be16(udp + 4);
	if (ulen < 8 || p->l4 + (uint32_t)ulen > end)
		return SL_PARSE_LEN;
	p->payload = (uint16_t)(p->l4 + 8);
	p->payload_len = (uint16_t)(ulen - 8);
	if (!p->v6 && sl_csum_fold(sl_csum_add(0, p->data + p->l3, p->l4 - p->l3)) != 0)
		return SL_PARSE_CSUM;
	if (udp[6] == 0 && udp[7] == 0) /* none: IPv4 only (RFC 8200, 8.1) */
		return p->v6 ? SL_PARSE_CSUM : SL_PARSE_OK;
	sl_pkt_saddr(p, &src);
	sl_pkt_daddr(p, &dst);
	pseudo = sl_pseudo_sum(&src, &dst, IPPROTO_UDP, ulen);
	if (partial_ok && is_partial(udp, pseudo))
		return SL_PARSE_OK;
	return sl_csum_fold(sl_csum_add(pseudo, udp, ulen)) == 0 ? SL_PARSE_OK : SL_PARSE_CSUM;
}
