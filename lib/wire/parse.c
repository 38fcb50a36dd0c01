/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks received packets: neither their bytes nor the steering program's record is trusted. */
#include "wire/wire.h"

#include <endian.h>

#include "wire/csum.h"
#include "wire/tcp_seg.h"

static bool parse_ipv4(struct sl_pkt *p, uint8_t proto, uint32_t *end)
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
	return h[9] == proto;
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

static bool parse_ip(struct sl_pkt *p, uint8_t proto, uint32_t *end)
{
	if (p->l3 < 14 || p->l3 >= p->len)
		return false;
	p->v6 = p->data[p->l3] >> 4 == 6;
	return p->v6 ? parse_ipv6(p, end) : parse_ipv4(p, proto, end);
}

static bool ip_sum_ok(const struct sl_pkt *p)
{
	uint32_t len = p->l4 - p->l3;

	if (sl_likely(!p->v6 && len == sizeof(struct iphdr)))
		return sl_csum_fold(sl_csum_words(p->data + p->l3, 5)) == 0;
	return p->v6 || sl_csum_fold(sl_csum_add(0, p->data + p->l3, len)) == 0;
}

/* True: the checksum field holds the pseudo-header sum, not complemented. The sender left the rest
 * to a device, which the packet never passed (Linux: CHECKSUM_PARTIAL). */
static bool is_partial(const uint8_t *csum, uint64_t pseudo)
{
	uint16_t field;

	memcpy(&field, csum, 2);
	return (uint16_t)(field ^ sl_csum_fold(pseudo)) == 0xffff;
}

/* Adds the next piece to a sum of n bytes. */
static uint64_t sum_piece(uint64_t sum, size_t n, const uint8_t *data, size_t len)
{
	uint16_t s = (uint16_t)~sl_csum_fold(sl_csum_add(0, data, len));

	return sum + (n & 1 ? __builtin_bswap16(s) : s);
}

/* The sum of the len bytes from l4 on, some of them in the tail. */
static SL_APART uint64_t sum_pieces(const struct sl_pkt *p, uint64_t sum, size_t len)
{
	size_t n = p->len - p->tail_len - p->l4;

	if (len <= n)
		return sl_csum_add(sum, p->data + p->l4, len);
	sum = sum_piece(sum, 0, p->data + p->l4, n);
	for (const struct sl_piece *t = p->tail; n < len; n += t++->len)
		sum = sum_piece(sum, n, t->data, sl_min((size_t)t->len, len - n));
	return sum;
}

/* The sum over pseudo-header, header and payload (len bytes), which has the checksum at csum. */
static bool l4_sum_ok(const struct sl_pkt *p, uint8_t proto, uint16_t len, const uint8_t *csum,
		      bool partial_ok)
{
	const uint8_t *ip = p->data + p->l3;
	uint64_t pseudo = htobe16(proto) + (uint64_t)htobe16(len);

	if (p->csum_ok)
		return true;
	/* Source and destination, side by side. */
	pseudo += p->v6 ? sl_csum_words(ip + offsetof(struct ipv6hdr, saddr), 8)
			: sl_csum_words(ip + offsetof(struct iphdr, saddr), 2);
	if (partial_ok && is_partial(csum, pseudo))
		return true;
	if (sl_unlikely(p->tail_len))
		return sl_csum_fold(sum_pieces(p, pseudo, len)) == 0;
	return sl_csum_fold(sl_csum_add(pseudo, p->data + p->l4, len)) == 0;
}

enum sl_parse_result sl_parse_udp(struct sl_pkt *p, bool partial_ok)
{
	const uint8_t *udp;
	uint32_t end;
	uint16_t ulen;

	if (!parse_ip(p, IPPROTO_UDP, &end) || p->l4 + 8u > end)
		return SL_PARSE_LEN;
	udp = p->data + p->l4;
	ulen = sl_get_be16(udp + 4);
	if (ulen < 8 || p->l4 + (uint32_t)ulen > end)
		return SL_PARSE_LEN;
	p->payload = (uint16_t)(p->l4 + 8);
	p->payload_len = (uint16_t)(ulen - 8);
	if (!ip_sum_ok(p))
		return SL_PARSE_CSUM;
	if (udp[6] == 0 && udp[7] == 0) /* none: IPv4 only (RFC 8200, 8.1) */
		return p->v6 ? SL_PARSE_CSUM : SL_PARSE_OK;
	return l4_sum_ok(p, IPPROTO_UDP, ulen, udp + 6, partial_ok) ? SL_PARSE_OK : SL_PARSE_CSUM;
}

/* RFC 9293 3.1 */
static bool read_tcp_header(struct sl_tcp_seg *s, const uint8_t *tcp, uint32_t hlen)
{
	s->seq = sl_get_be32(tcp + 4);
	s->ack = sl_get_be32(tcp + 8);
	s->flags = tcp[13];
	s->wnd = sl_get_be16(tcp + 14);
	s->urg = sl_get_be16(tcp + 18);
	return sl_tcpopt_parse(s, tcp + 20, hlen - 20);
}

enum sl_parse_result sl_parse_tcp(struct sl_pkt *p, bool partial_ok, struct sl_tcp_seg *s)
{
	const uint8_t *tcp;
	uint32_t end, hlen;

	if (!parse_ip(p, IPPROTO_TCP, &end) || p->l4 + 20u > end)
		return SL_PARSE_LEN;
	tcp = p->data + p->l4;
	hlen = (tcp[12] >> 4) * 4u;
	if (hlen < 20 || p->l4 + hlen > end)
		return SL_PARSE_LEN;
	p->payload = (uint16_t)(p->l4 + hlen);
	p->payload_len = (uint16_t)(end - p->payload);
	if (!ip_sum_ok(p) ||
	    !l4_sum_ok(p, IPPROTO_TCP, (uint16_t)(end - p->l4), tcp + 16, partial_ok))
		return SL_PARSE_CSUM;
	if (!read_tcp_header(s, tcp, hlen))
		return SL_PARSE_LEN;
	s->len = p->payload_len;
	s->ce = (p->tos & 3) == 3; /* RFC 3168 5 */
	s->tos = p->tos;
	s->ect = p->tos & 3 && !(tcp[12] & 15);
	return SL_PARSE_OK;
}

/* RFC 792, RFC 4443 2.3: only ICMPv6 has a pseudo-header in its checksum. */
enum sl_parse_result sl_parse_icmp(struct sl_pkt *p, uint8_t proto)
{
	const uint8_t *icmp = p->data + p->l4;
	uint32_t end, len;

	if (p->tail_len || !parse_ip(p, proto, &end) || p->l4 + 8u > end ||
	    p->v6 != (proto == IPPROTO_ICMPV6))
		return SL_PARSE_LEN;
	len = end - p->l4;
	p->payload = (uint16_t)(p->l4 + 8);
	p->payload_len = (uint16_t)(len - 8);
	if (!ip_sum_ok(p))
		return SL_PARSE_CSUM;
	if (p->v6)
		return l4_sum_ok(p, proto, (uint16_t)len, icmp + 2, false) ? SL_PARSE_OK
									   : SL_PARSE_CSUM;
	return sl_csum_fold(sl_csum_add(0, icmp, len)) == 0 ? SL_PARSE_OK : SL_PARSE_CSUM;
}
