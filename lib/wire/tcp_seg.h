/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP segment without its bytes: the values in its header (RFC 9293 3.1). TCP handles these;
 * parse.c and build.c turn packets into them and back. */
#ifndef SL_TCP_SEG_H
#define SL_TCP_SEG_H

#include "wire/wire.h"

#define SL_TCP_FIN (1u << 0)
#define SL_TCP_SYN (1u << 1)
#define SL_TCP_RST (1u << 2)
#define SL_TCP_PSH (1u << 3)
#define SL_TCP_ACK (1u << 4)
#define SL_TCP_URG (1u << 5)
#define SL_TCP_ECE (1u << 6)
#define SL_TCP_CWR (1u << 7)

/* Options that a segment has (sl_tcp_seg.opts). */
#define SL_TCPO_MSS     (1u << 0)
#define SL_TCPO_WSCALE  (1u << 1)
#define SL_TCPO_SACK_OK (1u << 2)
#define SL_TCPO_TS      (1u << 3)
#define SL_TCPO_SACK    (1u << 4)
#define SL_TCPO_TFO     (1u << 5) /* cookie, or with tfo_len 0 the request for one (RFC 7413) */
#define SL_TCPO_TFO_EXP (1u << 6) /* the same by the option that was there before it (254) */

#define SL_TCP_MAX_SACK 4
#define SL_TCP_TFO_MAX  16
/* Payload of a segment for a peer that named no size (RFC 9293 3.7.1). */
#define SL_TCP_MSS_V4 536u
#define SL_TCP_MSS_V6 1220u
/* Offset of the payload in a frame made for sending: room for Ethernet, two tags, IPv6 and the
 * longest TCP header in front of it. Not 128: headers of 66 bytes (IPv4, time stamps) would then
 * begin at 62, two bytes below the kernel's buffer's offset in its page, and the kernel's copy (rep
 * movsb) would take 0.2 us longer for each segment: loads seem to depend on the stores before them.
 */
#define SL_TCP_HEADROOM 192

struct sl_tcp_block {
	uint32_t start, end; /* [start, end) */
};

struct sl_tcp_seg {
	uint32_t seq, ack;
	uint16_t wnd; /* as in the header: not scaled */
	uint16_t urg;
	uint8_t flags;
	uint8_t opts; /* SL_TCPO_* */
	uint8_t nsack;
	uint8_t wscale; /* as in the option; TCP limits it to 14 */
	uint8_t tfo_len;
	bool ce; /* received: IP marked it CE; to send: mark it ECT(0) */
	uint16_t mss;
	uint32_t tsval, tsecr;
	uint16_t len; /* bytes of payload */
	bool ect;     /* received: IP marked it ECT or CE, and TCP's reserved bits are 0 */
	uint8_t tos;  /* received: IP's byte; a SYN-ACK: that of its SYN */
	struct sl_tcp_block sack[SL_TCP_MAX_SACK];
	uint8_t tfo[SL_TCP_TFO_MAX];
};

/* Sequence numbers compare modulo 2^32 (RFC 9293 3.4). */
static inline bool sl_seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}
static inline bool sl_seq_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}
static inline bool sl_seq_gt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}
static inline bool sl_seq_ge(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) >= 0;
}
/* Sequence numbers that the segment uses: those of its payload, SYN and FIN. */
static inline uint32_t sl_seg_seqlen(const struct sl_tcp_seg *s)
{
	return s->len + !!(s->flags & SL_TCP_SYN) + !!(s->flags & SL_TCP_FIN);
}

/* Options -------------------------------------------------------------------------------------- */

/* Reads n bytes of options into s (opts and the fields that belong to it). Never reads past n.
 * Skips unknown options, and known ones of a wrong length; a length that cannot be ends the walk
 * (options read before it stay). False: Linux drops such a segment, since it is signed by a key
 * that the connection does not have, or a length leaves room for that. */
bool sl_tcpopt_parse(struct sl_tcp_seg *s, const uint8_t *p, size_t n);
/* Writes the options of s, padded to words (at most 40 bytes; SACK blocks that do not fit are left
 * out). Returns the length. */
size_t sl_tcpopt_build(const struct sl_tcp_seg *s, uint8_t *p);
/* The length that sl_tcpopt_build() would write. */
size_t sl_tcpopt_len(const struct sl_tcp_seg *s);

/* Packets -------------------------------------------------------------------------------------- */

/* Checks a TCP packet like sl_parse_udp(): lengths, IPv4 header and TCP checksum. Fills the rest of
 * p (payload, payload_len) and s (ce from the IP header). */
enum sl_parse_result sl_parse_tcp(struct sl_pkt *p, bool partial_ok, struct sl_tcp_seg *s);

/* The part of the headers that stays the same for a connection; the rest is filled in for each
 * segment. */
struct sl_tcp_hdr {
	uint8_t bytes[14 + 8 + 40 + 4]; /* Ethernet, tags, IP, and the ports */
	uint8_t len;                    /* bytes used of `bytes`; 0: not built */
	uint8_t l3, l4;
	bool v6;
	uint64_t ip_sum;     /* as in struct sl_udp_hdr */
	uint64_t pseudo_sum; /* sum of the pseudo header without the length */
};
/* Uses of b, as for UDP: addresses, ports, tos (without its ECN bits), ttl, df, flowlabel, VLAN and
 * MACs. */
void sl_build_tcp_hdr(struct sl_tcp_hdr *h, const struct sl_udp_build *b);
/* Writes the headers in front of the payload (headroom: SL_TCP_HEADROOM). sum: of the payload
 * (sl_csum_add() from 0, folded or not), or SL_CSUM_NONE if the device writes the checksum: the
 * field is left 0. Returns the frame's start. */
uint8_t *sl_build_tcp(const struct sl_tcp_hdr *h, const struct sl_tcp_seg *s, uint8_t *payload,
		      uint16_t ip_id, uint64_t sum);

#endif
