/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksum loops. The sums are of 16-bit words of the host's order; wider words with carries give
 * the same result (RFC 1071, 2). Two sums, so that one's carries need not wait for the other's: 16
 * bytes a cycle, which beats vector code without AVX (32-bit words into 64-bit sums). */
#include "wire/csum.h"

#include <endian.h>

#include "base/guard.h"

static inline uint64_t load_8(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

/* The last 1-7 bytes, as if padded with zeros. A copy of unknown length would be a call. */
static inline uint64_t load_tail(const uint8_t *p, size_t len)
{
	uint64_t v = 0;
	unsigned at = 0;

	if (len & 4) {
		uint32_t w;

		memcpy(&w, p, 4);
		v = w;
		at = 4;
	}
	if (len & 2) {
		uint16_t w;

		memcpy(&w, p + at, 2);
		v |= (uint64_t)w << 8 * at;
		at += 2;
	}
	if (len & 1)
		v |= (uint64_t)p[at] << 8 * at;
	return v;
}

static inline void store_tail(uint8_t *p, uint64_t v, size_t len)
{
	if (len & 4) {
		memcpy(p, &v, 4);
		v >>= 32;
		p += 4;
	}
	if (len & 2) {
		memcpy(p, &v, 2);
		v >>= 16;
		p += 2;
	}
	if (len & 1)
		*p = (uint8_t)v;
}

/* Callers use 64 one bits as a mark (SL_CSUM_NONE, SL_CSUM_FAULT). A sum of that value is replaced
 * by 16 one bits: the same number in one's complement, which also folds to zero. */
static inline uint64_t unmarked(uint64_t sum)
{
	return sl_unlikely(sum == UINT64_MAX) ? 0xffff : sum;
}

/* Adds a word; the carry goes into c: one add and one adc. */
#define ADD(s, c, v) ((c) += __builtin_add_overflow((s), (v), &(s)))

/* gcc 12 would otherwise pair the words in vector registers, by way of memory. */
#if defined(__GNUC__) && !defined(__clang__)
#define IN_REGISTERS __attribute__((optimize("no-tree-slp-vectorize")))
#else
#define IN_REGISTERS
#endif

/* Adds, and copies unless d is NULL, which must be a constant. */
static inline __attribute__((always_inline)) uint64_t add(uint64_t s0, uint8_t *d, const uint8_t *s,
							  size_t len)
{
	uint64_t s1 = 0, c0 = 0, c1 = 0;

	for (; len >= 32; len -= 32, s += 32) {
		uint64_t v0 = load_8(s), v1 = load_8(s + 8), v2 = load_8(s + 16),
			 v3 = load_8(s + 24);

		if (d) {
			memcpy(d, &v0, 8);
			memcpy(d + 8, &v1, 8);
			memcpy(d + 16, &v2, 8);
			memcpy(d + 24, &v3, 8);
			d += 32;
		}
		ADD(s0, c0, v0);
		ADD(s1, c1, v1);
		ADD(s0, c0, v2);
		ADD(s1, c1, v3);
	}
	if (len & 16) {
		uint64_t v0 = load_8(s), v1 = load_8(s + 8);

		if (d) {
			memcpy(d, &v0, 8);
			memcpy(d + 8, &v1, 8);
			d += 16;
		}
		ADD(s0, c0, v0);
		ADD(s1, c1, v1);
		s += 16;
	}
	if (len & 8) {
		uint64_t v = load_8(s);

		if (d) {
			memcpy(d, &v, 8);
			d += 8;
		}
		ADD(s0, c0, v);
		s += 8;
	}
	if (len & 7) {
		uint64_t v = load_tail(s, len & 7);

		if (d)
			store_tail(d, v, len & 7);
		ADD(s1, c1, v);
	}
	return unmarked(sl_csum_add64(sl_csum_add64(s0, s1), c0 + c1));
}

#define LONG 256 /* from more bytes than this vector code is faster */

#ifdef __x86_64__
/* 32 bytes at any address. */
typedef uint64_t vec __attribute__((vector_size(32), aligned(1), may_alias));

static inline bool is_wide(size_t len)
{
	return sl_unlikely(len > LONG) && __builtin_cpu_supports("avx2");
}

/* len: a multiple of 64. The halves of the words are added separately, so that no carry is lost. */
__attribute__((target("avx2"))) static inline uint64_t wide(uint8_t *d, const uint8_t *s,
							    size_t len, bool copy)
{
	vec low = (vec){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, a = {0}, b = {0};

	for (; len; len -= 64, s += 64) {
		vec x = *(const vec *)s, y = *(const vec *)(s + 32);

		if (copy) {
			*(vec *)d = x;
			*(vec *)(d + 32) = y;
			d += 64;
		}
		a += (x & low) + (y & low);
		b += (x >> 32) + (y >> 32);
	}
	a += b;
	return a[0] + a[1] + a[2] + a[3];
}

__attribute__((target("avx2"))) static uint64_t wide_add(const uint8_t *s, size_t len)
{
	return wide(NULL, s, len, false);
}

__attribute__((target("avx2"))) static uint64_t wide_copy(uint8_t *d, const uint8_t *s, size_t len)
{
	return wide(d, s, len, true);
}
#else
static inline bool is_wide(size_t len)
{
	return false;
}

static uint64_t wide_add(const uint8_t *s, size_t len)
{
	return 0;
}

static uint64_t wide_copy(uint8_t *d, const uint8_t *s, size_t len)
{
	return 0;
}
#endif

IN_REGISTERS uint64_t sl_csum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t n = len & ~(size_t)63;

	if (is_wide(len)) {
		sum = sl_csum_add64(sum, wide_add(p, n));
		p += n;
		len -= n;
	}
	return add(sum, NULL, p, len);
}

SL_APART IN_REGISTERS uint64_t sl_csum_copy(uint64_t sum, void *dst, const void *src, size_t len)
{
	const uint8_t *s = src;
	uint8_t *d = dst;
	size_t n = len & ~(size_t)63;

	if (is_wide(len)) {
		sum = sl_csum_add64(sum, wide_copy(d, s, n));
		s += n;
		d += n;
		len -= n;
	}
	return add(sum, d, s, len);
}
SL_GUARDED(sl_csum_copy, SL_CSUM_FAULT);
