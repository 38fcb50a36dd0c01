/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksum loops: 32-bit words into 64-bit sums need no carry handling for any packet's length,
 * and the compiler makes vector code of them. */
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

uint64_t sl_csum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t s0 = 0, s1 = 0;

	for (; len >= 64; len -= 64, p += 64)
		for (int i = 0; i < 8; i++) {
			s0 += load32(p + 8 * i);
			s1 += load32(p + 8 * i + 4);
		}
	for (; len >= 8; len -= 8, p += 8) {
		s0 += load32(p);
		s1 += load32(p + 4);
	}
	if (len)
		sum = sl_csum_add64(sum, tail(p, len));
	return sl_csum_add64(sum, s0 + s1);
}

uint64_t sl_csum_copy(uint64_t sum, void *dst, const void *src, size_t len)
{
	const uint8_t *s = src;
	uint8_t *d = dst;
	uint64_t s0 = 0, s1 = 0, v;

	if (len > 256) { /* past this, copying first wins: memcpy's loop is wider than ours */
		memcpy(dst, src, len);
		return sl_csum_add(sum, dst, len);
	}
	for (; len >= 8; len -= 8, s += 8, d += 8) {
		v = load64(s);
		memcpy(d, &v, 8);
		s0 += v & 0xffffffff;
		s1 += v >> 32;
	}
	if (len) {
		memcpy(d, s, len);
		sum = sl_csum_add64(sum, tail(s, len));
	}
	return sl_csum_add64(sum, s0 + s1);
}
