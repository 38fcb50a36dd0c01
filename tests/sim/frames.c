/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames that the tests send: no checksum in them is filled in. */
#include <netinet/in.h>
#include <string.h>

#include "tx.h"

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint32_t l2(uint8_t *p, struct tx_kind kind)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	uint32_t at = 12;

	memcpy(p, macs, sizeof(macs));
	if (kind.vlan) {
		put16(p + 12, 0x8100);
		put16(p + 14, 5);
		at = 16;
	}
	put16(p + at, kind.v6 ? 0x86dd : 0x0800);
	return at + 2;
}

/* Returns where the next layer begins. The lengths are those of a packet of `payload` bytes. */
static uint32_t l3(uint8_t *frame, struct tx_kind kind, uint8_t proto, uint32_t payload)
{
	uint32_t at = l2(frame, kind);
	uint8_t *p = frame + at;

	memset(p, 0, kind.v6 ? 40 : 20);
	if (kind.v6) {
		p[0] = 0x60;
		put16(p + 4, payload);
		p[6] = proto;
		p[7] = 64;
		p[8] = p[24] = 0xfd;
		p[23] = 1;
		p[39] = 2;
		return at + 40;
	}
	p[0] = 0x45;
	put16(p + 2, payload + 20);
	put16(p + 4, 0xfffe); /* wraps in the third segment */
	p[6] = 0x40;
	p[8] = 64;
	p[9] = proto;
	put32(p + 12, 0x0a630001);
	put32(p + 16, 0x0a630002);
	return at + 20;
}

uint32_t tx_udp_header_bytes(struct tx_kind kind)
{
	return 14 + (kind.vlan ? 4 : 0) + (kind.v6 ? 40 : 20) + 8;
}

void tx_udp(uint8_t *frame, struct tx_kind kind, uint32_t len, uint32_t seq)
{
	uint32_t hdr = tx_udp_header_bytes(kind), at = l3(frame, kind, IPPROTO_UDP, len - hdr + 8);
	uint8_t *p = frame + at;

	put16(p, 4000);
	put16(p + 2, TX_UDP_PORT);
	put16(p + 4, len - hdr + 8);
	put16(p + 6, 0);
	put32(p + 8, seq);
	for (uint32_t i = hdr + 4; i < len; i++)
		frame[i] = tx_udp_byte(seq, i - hdr);
}

uint16_t tx_tcp_header(uint8_t *hdr, struct tx_kind kind, uint32_t stream_off, uint8_t flags)
{
	uint32_t at = l3(hdr, kind, IPPROTO_TCP, 32);
	uint8_t *p = hdr + at;
	static const uint8_t options[12] = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2};

	memset(p, 0, 20);
	put16(p, 4000);
	put16(p + 2, TX_TCP_PORT);
	put32(p + 4, TX_TCP_ISN + stream_off);
	p[12] = 32 / 4 << 4;
	p[13] = flags;
	put16(p + 14, 65535);
	memcpy(p + 20, options, sizeof(options));
	return (uint16_t)(at + 32);
}
