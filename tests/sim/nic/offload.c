/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's work on an outgoing frame: checksums and TCP segmentation. */
#include <netinet/in.h>
#include <string.h>

#include "nic.h"

#define TCP_PSH_FIN 0x09
#define TCP_CWR     0x80

struct layers {
	size_t l3, l4;
	uint8_t proto;
	bool v4;
};

static unsigned get16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t sum(const uint8_t *p, size_t n, uint32_t s)
{
	for (; n > 1; n -= 2, p += 2)
		s += get16(p);
	return n ? s + (uint32_t)(p[0] << 8) : s;
}

static uint16_t fold(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

/* Ethernet, VLAN tags, IP without extension headers. */
static bool find_layers(const uint8_t *f, size_t len, struct layers *at)
{
	size_t o = 12;
	unsigned type;

	while (o + 6 <= len && ((type = get16(f + o)) == 0x8100 || type == 0x88a8))
		o += 4;
	if (o + 2 > len)
		return false;
	type = get16(f + o);
	o += 2;
	if (type == 0x0800 && o + 20 <= len) {
		*at = (struct layers){
			.l3 = o, .l4 = o + (f[o] & 15u) * 4, .proto = f[o + 9], .v4 = true};
		return at->l4 >= o + 20 && at->l4 <= len;
	}
	if (type == 0x86dd && o + 40 <= len) {
		*at = (struct layers){.l3 = o, .l4 = o + 40, .proto = f[o + 6]};
		return true;
	}
	return false;
}

static size_t end_of_packet(const uint8_t *f, const struct layers *at)
{
	return at->v4 ? at->l3 + get16(f + at->l3 + 2) : at->l3 + 40 + get16(f + at->l3 + 4);
}

static bool is_fragment(const uint8_t *f, const struct layers *at)
{
	return at->v4 && (get16(f + at->l3 + 6) & 0x3fff);
}

static void checksum_l4(uint8_t *f, const struct layers *at, size_t end)
{
	size_t field = at->l4 + (at->proto == IPPROTO_TCP ? 16 : 6), n = end - at->l4;
	uint32_t s = at->v4 ? sum(f + at->l3 + 12, 8, 0) : sum(f + at->l3 + 8, 32, 0);
	uint16_t r;

	if (field + 2 > end)
		return;
	put16(f + field, 0);
	r = fold(sum(f + at->l4, n, s + at->proto + (uint32_t)n));
	put16(f + field, at->proto == IPPROTO_UDP && !r ? 0xffff : r);
}

void sim_checksum(uint8_t *f, size_t len, unsigned what)
{
	struct layers at;
	size_t end;

	if (!what || !find_layers(f, len, &at))
		return;
	end = end_of_packet(f, &at);
	if (end > len || end < at.l4)
		return;
	if (at.v4 && (what & SIM_CSUM_L3)) {
		put16(f + at.l3 + 10, 0);
		put16(f + at.l3 + 10, fold(sum(f + at.l3, at.l4 - at.l3, 0)));
	}
	if ((what & SIM_CSUM_L4) && (at.proto == IPPROTO_TCP || at.proto == IPPROTO_UDP) &&
	    !is_fragment(f, &at))
		checksum_l4(f, &at, end);
}

/* The header of segment n, whose payload begins at off and has m bytes. */
static void segment_header(uint8_t *f, const struct layers *at, size_t hdr, unsigned n, size_t off,
			   size_t m, bool last)
{
	uint32_t seq = (uint32_t)get16(f + at->l4 + 4) << 16 | get16(f + at->l4 + 6);

	if (at->v4) {
		put16(f + at->l3 + 2, (unsigned)(hdr - at->l3 + m));
		put16(f + at->l3 + 4, get16(f + at->l3 + 4) + n);
	} else {
		put16(f + at->l3 + 4, (unsigned)(hdr - at->l3 - 40 + m));
	}
	seq += (uint32_t)off;
	put16(f + at->l4 + 4, seq >> 16);
	put16(f + at->l4 + 6, seq);
	if (n)
		f[at->l4 + 13] &= (uint8_t)~TCP_CWR;
	if (!last)
		f[at->l4 + 13] &= (uint8_t)~TCP_PSH_FIN;
}

int sim_segment(const uint8_t *f, size_t len, size_t hdr, unsigned mss, sim_emit_fn emit, void *arg)
{
	static uint8_t seg[SIM_MAX_FRAME]; /* under the lock */
	struct layers at;
	unsigned n = 0;

	if (!find_layers(f, hdr, &at) || at.proto != IPPROTO_TCP || at.l4 + 20 > hdr || hdr > len ||
	    !mss || hdr + mss > sizeof(seg))
		return -1;
	for (size_t off = 0; off < len - hdr; off += mss, n++) {
		size_t m = len - hdr - off < mss ? len - hdr - off : mss;

		memcpy(seg, f, hdr);
		memcpy(seg + hdr, f + hdr + off, m);
		segment_header(seg, &at, hdr, n, off, m, off + m == len - hdr);
		sim_checksum(seg, hdr + m, SIM_CSUM_L3 | SIM_CSUM_L4);
		emit(seg, hdr + m, arg);
	}
	return 0;
}
