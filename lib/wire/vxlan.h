/* SPDX-License-Identifier: BSD-2-Clause */
/* VXLAN (RFC 7348): the headers in front of a frame that leaves by a VXLAN device. */
#ifndef SL_WIRE_VXLAN_H
#define SL_WIRE_VXLAN_H

#include "wire/wire.h"

/* Ethernet, IPv6, UDP, VXLAN. */
#define SL_VXLAN_MOST (14 + 40 + 8 + 8)

/* The headers that stay the same for a remote host; lengths, source port, checksums and what comes
 * from the inner packet are filled in for each packet. */
struct sl_vxlan_hdr {
	uint8_t bytes[SL_VXLAN_MOST + 2];
	uint8_t len; /* bytes of header, 0: not built */
	bool v6;
	bool sum;       /* the outer UDP checksum is written */
	bool inner_tos; /* taken from the inner packet */
	bool inner_ttl;
	bool inner_df;
	uint16_t mtu;                 /* bytes of the longest outer IP packet */
	uint16_t port_min, port_span; /* source ports */
	const uint64_t *secret;       /* sources cannot be told from flows; the caller keeps it */
	uint64_t udp_sum;             /* of the fixed part of what the checksum covers */
};

/* Values for the headers; ports in host order. */
struct sl_vxlan_build {
	uint8_t smac[6], dmac[6];
	struct sl_addr src, dst;
	uint32_t vni, label;
	uint16_t dport, port_min, port_max;
	uint16_t mtu;
	uint8_t tos, ttl;
	bool inner_tos, inner_ttl, inner_df, df, sum;
	const uint64_t *secret;
};
void sl_build_vxlan_hdr(struct sl_vxlan_hdr *h, const struct sl_vxlan_build *b);

/* Writes the headers in front of a frame of ours, n bytes with the checksums of IP and UDP or TCP
 * in place, which begins at inner and has `room` bytes in front. Returns the bytes of header; 0:
 * the frame is one that the kernel must wrap, for its length or its form. */
unsigned sl_build_vxlan(const struct sl_vxlan_hdr *h, uint8_t *inner, uint16_t n, unsigned room,
			uint16_t ip_id);

#endif
