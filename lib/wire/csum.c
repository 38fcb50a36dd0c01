/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksum loops. The sums are of 16-bit words of the host's order; wider words with carries give
 * the same result (RFC 1071, 2). */
#include "wire/csum.h"

#include <endian.h>

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

/* The last 0-7 bytes, as if padded with zeros. */
static inline uint64_t tail(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	memcpy(&v, p, len);
	return v;
}

/* Sixty-four ones and sixteen are the same number, and both fold to zero, as the sum of a packet
 * that is right must; the former is a mark of the callers' (SL_CSUM_NONE). */
static inline uint64_t unmarked(uint64_t sum)
{
	return sl_unlikely(sum == UINT64_MAX) ? 0xffff : sum;
}

/* Adds a word; the carry goes into c: one add and one adc. */
#define ADD(s, c, v) ((c) += __builtin_add_overflow((s), (v), &(s)))

uint64_t sl_csum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t s0 = 0, s1 = 0, c = 0;

	for (; len >= 64; len -= 64, p += 64)
		for (int i = 0; i < 8; i++) { /* 32-bit words into 64-bit sums: vector code */
			s0 += load32(p + 8 * i);
			s1 += load32(p + 8 * i + 4);
		}
	for (; len >= 8; len -= 8, p += 8)
		ADD(sum, c, load64(p));
	if (len)
		ADD(sum, c, tail(p, len));
	return unmarked(sl_csum_add64(sl_csum_add64(sum, s0 + s1), c));
}

/* Short copies: the words pass through registers once for both. Vector code would store them to
 * memory in between (gcc 12: 108 instructions for 64 bytes against 60). */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-slp-vectorize")))
#endif
static uint64_t
copy_short(uint64_t sum, uint8_t *d, const uint8_t *s, size_t len)
{
	uint64_t c = 0;

	for (; len >= 16; len -= 16, s += 16, d += 16) {
		uint64_t v0 = load64(s), v1 = load64(s + 8);

		memcpy(d, &v0, 8);
		memcpy(d + 8, &v1, 8);
		ADD(sum, c, v0);
		ADD(sum, c, v1);
	}
	if (len >= 8) {
		uint64_t v = load64(s);

		memcpy(d, &v, 8);
		ADD(sum, c, v);
		len -= 8;
		s += 8;
		d += 8;
	}
	if (sl_unlikely(len)) {
		memcpy(d, s, len);
		ADD(sum, c, tail(s, len));
	}
	return unmarked(sl_csum_add64(sum, c));
}

uint64_t sl_csum_copy(uint64_t sum, void *dst, const void *src, size_t len)
{
	if (sl_likely(len <= 256))
		return copy_short(sum, dst, src, len);
	memcpy(dst, src, len); /* its loop is wider than ours */
	return sl_csum_add(sum, dst, len);
}
