/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet as bytes: where its headers are, and what they say. */
#ifndef SL_WIRE_H
#define SL_WIRE_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "base/addr.h"
#include "base/base.h"

/* Longest header we build: Ethernet, two VLAN tags, IPv6, UDP. */
#define SL_MAX_HDR (14 + 8 + 40 + 8)

/* A part of a packet's bytes that lies apart from the bytes before it. */
struct sl_piece {
	const uint8_t *data;
	uint32_t len;
};

/* A received packet; the offsets count from data and were checked against len. */
struct sl_pkt {
	uint8_t *data;
	uint32_t len;      /* bytes of the packet, padding included */
	uint32_t tail_len; /* how many of len lie in tail; never headers */
	const struct sl_piece *tail;
	uint16_t l3;
	uint16_t l4;
	uint16_t payload;
	uint16_t payload_len;
	bool v6;
	bool csum_ok; /* set before parsing: the checksum of TCP or UDP is not checked */
	uint8_t tos;  /* or traffic class */
	uint8_t ttl;  /* or hop limit */
};

/* Read and write 16 bits in network order, at any address. */
static inline uint16_t sl_get_be16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t sl_get_be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return __builtin_bswap32(v);
}

static inline void sl_put_be16(void *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, 2);
}

static inline void sl_put_be32(void *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, 4);
}

/* Why a packet was refused. */
enum sl_parse_result { SL_PARSE_OK, SL_PARSE_LEN, SL_PARSE_CSUM };

/* Checks a UDP packet, and l3 and l4, which a steering program set: lengths (RFC 768, 791, 8200),
 * IPv4 header checksum, UDP checksum. Fills the rest of p. partial_ok: the device may hand over
 * packets with the pseudo-header sum alone (veth, virtio_net). */
enum sl_parse_result sl_parse_udp(struct sl_pkt *p, bool partial_ok);

/* Checks an ICMP message of at least 8 bytes in the same way. proto: IPPROTO_ICMP or
 * IPPROTO_ICMPV6; the packet must have the IP version that belongs to it. The payload is what
 * follows the 8 bytes. */
enum sl_parse_result sl_parse_icmp(struct sl_pkt *p, uint8_t proto);

/* Source and destination of a packet whose v6, data and l3 are set. */
static inline void sl_pkt_saddr(const struct sl_pkt *p, struct sl_addr *a)
{
	const uint8_t *h = p->data + p->l3;
	uint32_t v4;

	if (p->v6) {
		memcpy(a->b, h + offsetof(struct ipv6hdr, saddr), 16);
	} else {
		memcpy(&v4, h + offsetof(struct iphdr, saddr), 4);
		*a = sl_addr_v4(v4);
	}
}

static inline void sl_pkt_daddr(const struct sl_pkt *p, struct sl_addr *a)
{
	const uint8_t *h = p->data + p->l3;
	uint32_t v4;

	if (p->v6) {
		memcpy(a->b, h + offsetof(struct ipv6hdr, daddr), 16);
	} else {
		memcpy(&v4, h + offsetof(struct iphdr, daddr), 4);
		*a = sl_addr_v4(v4);
	}
}

/* Sum over addresses, protocol and length for TCP and UDP (RFC 768, RFC 8200 8.1), in memory order.
 * len: of the transport's header and payload. */
uint64_t sl_pseudo_sum(const struct sl_addr *src, const struct sl_addr *dst, uint8_t proto,
		       uint16_t len);

/* The headers of a UDP packet that stay the same for a path; length, identification and checksums
 * are filled in for each packet. */
struct sl_udp_hdr {
	uint8_t bytes[SL_MAX_HDR + 10]; /* copied as a whole, in words */
	uint8_t len;                    /* bytes of header, 0: not built */
	uint8_t l3, l4;
	bool v6;
	uint64_t ip_sum;     /* sum of the IPv4 header without length, id, checksum */
	uint64_t pseudo_sum; /* sum of the pseudo header without the length */
};

/* Values for the headers; ports in host order. */
struct sl_udp_build {
	uint8_t smac[6], dmac[6];
	uint32_t vlan; /* inner tag, outer tag << 16: VID | SL_VLAN_AD; 0: none */
	uint8_t pcp;   /* priority in the inner tag, in the outer tag << 4 */
	struct sl_addr src, dst;
	uint16_t sport, dport;
	uint8_t tos, ttl;
	bool df;
	uint32_t flowlabel; /* host order, 20 bits */
};
/* Makes the headers that stay the same. */
void sl_build_udp_hdr(struct sl_udp_hdr *h, const struct sl_udp_build *b);

/* Writes an IPv4 header without length, ID and checksum. tos: the byte, and SL_IP4_DF. Returns its
 * end. */
#define SL_IP4_DF 0x100u /* don't fragment */
uint8_t *sl_put_ipv4(uint8_t *p, const struct sl_addr *src, const struct sl_addr *dst, uint32_t tos,
		     uint8_t proto, uint8_t ttl);
/* Writes an IPv6 header without its length. flow: traffic class << 20 | flow label. Returns its
 * end. */
uint8_t *sl_put_ipv6(uint8_t *p, const struct sl_addr *src, const struct sl_addr *dst,
		     uint32_t flow, uint8_t proto, uint8_t ttl);

/* Writes the headers in front of payload, which must have h->len bytes of headroom. sum: of the
 * payload, or SL_CSUM_NONE for an IPv4 datagram without checksum. Returns the frame's start. */
#define SL_CSUM_NONE UINT64_MAX
uint8_t *sl_build_udp(const struct sl_udp_hdr *h, uint8_t *payload, uint16_t len, uint16_t ip_id,
		      uint64_t sum);

#endif
