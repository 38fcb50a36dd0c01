/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP options: RFC 9293 3.2 (end, no-operation, MSS), 7323 (window scale, time stamps), 2018
 * (SACK), 7413 (Fast Open). Signed segments (RFC 2385) are the kernel's alone. */
#include "wire/tcp_seg.h"

#include <endian.h>

enum { END, NOP, MSS, WSCALE, SACK_OK, SACK, TS = 8, MD5 = 19, TFO = 34, EXP = 254 };

#define MAX_OPTS 40
#define MD5_LEN  18 /* Linux does not look for it where less is left */
/* Nearly every segment of a connection has these and no others: NOP, NOP, time stamps. */
#define TS_ONLY_LEN 12
#define TS_ONLY     0x0101080a
/* The experimental option that Fast Open had before RFC 7413 (RFC 6994). */
#define TFO_MAGIC 0xf989

static uint8_t *put_be32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

static void parse_ts(struct sl_tcp_seg *s, const uint8_t *p)
{
	s->opts |= SL_TCPO_TS;
	s->tsval = sl_get_be32(p);
	s->tsecr = sl_get_be32(p + 4);
}

static void parse_sack(struct sl_tcp_seg *s, const uint8_t *p, size_t len)
{
	if (len == 0 || len % 8 || len / 8 > SL_TCP_MAX_SACK)
		return;
	s->opts |= SL_TCPO_SACK;
	s->nsack = (uint8_t)(len / 8);
	for (unsigned i = 0; i < s->nsack; i++, p += 8)
		s->sack[i] = (struct sl_tcp_block){sl_get_be32(p), sl_get_be32(p + 4)};
}

/* A request is empty; a cookie has 4 to 16 bytes, an even number (RFC 7413 4.1.1). */
static void parse_tfo(struct sl_tcp_seg *s, const uint8_t *p, size_t len)
{
	if (len && (len < 4 || len > SL_TCP_TFO_MAX || len % 2))
		return;
	s->opts |= SL_TCPO_TFO;
	s->tfo_len = (uint8_t)len;
	memcpy(s->tfo, p, len);
}

/* Reads an experimental option, which two bytes name. */
static void parse_exp(struct sl_tcp_seg *s, const uint8_t *p, size_t len)
{
	if (len < 2 || sl_get_be16(p) != TFO_MAGIC)
		return;
	parse_tfo(s, p + 2, len - 2);
	if (s->opts & SL_TCPO_TFO)
		s->opts |= SL_TCPO_TFO_EXP;
}

/* Reads an option: `len` bytes behind its kind and length. Ignores it if its length is wrong. */
static void parse_one(struct sl_tcp_seg *s, uint8_t kind, const uint8_t *p, size_t len)
{
	switch (kind) {
	case MSS:
		if (len == 2 && sl_get_be16(p)) {
			s->opts |= SL_TCPO_MSS;
			s->mss = sl_get_be16(p);
		}
		break;
	case WSCALE:
		if (len == 1) {
			s->opts |= SL_TCPO_WSCALE;
			s->wscale = p[0];
		}
		break;
	case SACK_OK:
		if (len == 0)
			s->opts |= SL_TCPO_SACK_OK;
		break;
	case SACK:
		parse_sack(s, p, len);
		break;
	case TS:
		if (len == 8)
			parse_ts(s, p);
		break;
	case TFO:
		parse_tfo(s, p, len);
		break;
	case EXP:
		parse_exp(s, p, len);
		break;
	}
}

bool sl_tcpopt_parse(struct sl_tcp_seg *s, const uint8_t *p, size_t n)
{
	s->opts = s->nsack = s->wscale = s->tfo_len = 0;
	s->mss = 0;
	s->tsval = s->tsecr = 0;
	if (sl_likely(n == TS_ONLY_LEN && sl_get_be32(p) == TS_ONLY)) {
		parse_ts(s, p + 4);
		return true;
	}
	while (n && p[0] != END) {
		size_t len = 1;

		if (p[0] != NOP) {
			if (n < 2 || p[1] < 2 || p[1] > n)
				return n < MD5_LEN;
			if (p[0] == MD5)
				return false;
			len = p[1];
			parse_one(s, p[0], p + 2, len - 2);
		}
		p += len;
		n -= len;
	}
	return true;
}

/* Number of SACK blocks that fit behind `used` bytes of other options. */
static unsigned sack_fits(const struct sl_tcp_seg *s, size_t used)
{
	if (!(s->opts & SL_TCPO_SACK) || used + 4 > MAX_OPTS)
		return 0;
	return sl_min((unsigned)s->nsack, (unsigned)((MAX_OPTS - used - 4) / 8));
}

static size_t tfo_len(const struct sl_tcp_seg *s)
{
	size_t head = s->opts & SL_TCPO_TFO_EXP ? 4 : 2;

	return (head + sl_min(s->tfo_len, (uint8_t)SL_TCP_TFO_MAX) + 3) & ~(size_t)3;
}

/* Length of all options but SACK and Fast Open. */
static size_t fixed_len(uint8_t opts)
{
	size_t n = 0;

	if (opts & SL_TCPO_MSS)
		n += 4;
	if (opts & SL_TCPO_TS)
		n += TS_ONLY_LEN; /* SACK-permitted replaces the padding of it */
	else if (opts & SL_TCPO_SACK_OK)
		n += 4;
	if (opts & SL_TCPO_WSCALE)
		n += 4;
	return n;
}

size_t sl_tcpopt_len(const struct sl_tcp_seg *s)
{
	size_t n = fixed_len(s->opts);
	unsigned blocks;

	if (s->opts & SL_TCPO_TFO && n + tfo_len(s) <= MAX_OPTS)
		n += tfo_len(s);
	blocks = sack_fits(s, n);
	return blocks ? n + 4 + (size_t)8 * blocks : n;
}

static uint8_t *put_ts(const struct sl_tcp_seg *s, uint8_t *p)
{
	uint32_t pad = s->opts & SL_TCPO_SACK_OK ? SACK_OK << 24 | 2 << 16 : NOP << 24 | NOP << 16;

	p = put_be32(p, pad | TS << 8 | 10);
	p = put_be32(p, s->tsval);
	return put_be32(p, s->tsecr);
}

static uint8_t *put_tfo(const struct sl_tcp_seg *s, uint8_t *p)
{
	size_t all = tfo_len(s), len = sl_min(s->tfo_len, (uint8_t)SL_TCP_TFO_MAX);

	memset(p, NOP, all);
	if (s->opts & SL_TCPO_TFO_EXP) {
		put_be32(p, (uint32_t)EXP << 24 | (uint32_t)(len + 4) << 16 | TFO_MAGIC);
		memcpy(p + 4, s->tfo, len);
	} else {
		p[0] = TFO;
		p[1] = (uint8_t)(len + 2);
		memcpy(p + 2, s->tfo, len);
	}
	return p + all;
}

size_t sl_tcpopt_build(const struct sl_tcp_seg *s, uint8_t *start)
{
	uint8_t *p = start;
	unsigned blocks;

	if (s->opts & SL_TCPO_MSS)
		p = put_be32(p, MSS << 24 | 4 << 16 | s->mss);
	if (s->opts & SL_TCPO_TS)
		p = put_ts(s, p);
	else if (s->opts & SL_TCPO_SACK_OK)
		p = put_be32(p, NOP << 24 | NOP << 16 | SACK_OK << 8 | 2);
	if (s->opts & SL_TCPO_WSCALE)
		p = put_be32(p, NOP << 24 | WSCALE << 16 | 3 << 8 | s->wscale);
	if (s->opts & SL_TCPO_TFO && (size_t)(p - start) + tfo_len(s) <= MAX_OPTS)
		p = put_tfo(s, p);
	blocks = sack_fits(s, (size_t)(p - start));
	if (blocks)
		p = put_be32(p, NOP << 24 | NOP << 16 | SACK << 8 | (2 + 8 * blocks));
	for (unsigned i = 0; i < blocks; i++) {
		p = put_be32(p, s->sack[i].start);
		p = put_be32(p, s->sack[i].end);
	}
	return (size_t)(p - start);
}
