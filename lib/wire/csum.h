/* SPDX-License-Identifier: BSD-2-Clause */
/* The Internet checksum (RFC 1071): sums are kept in 64 bits, in memory byte order, and folded at
 * the end. */
#ifndef SL_CSUM_H
#define SL_CSUM_H

#include <string.h>

#include "base/base.h"

/* Adds len bytes to a running sum. Only the last piece of a packet may have an odd length. */
uint64_t sl_csum_add(uint64_t sum, const void *data, size_t len);

/* Copies and adds in one pass. src may be the program's memory (base/guard.h). SL_CSUM_FAULT, which
 * is never a sum: there is no memory at src. */
#define SL_CSUM_FAULT UINT64_MAX
uint64_t sl_csum_copy(uint64_t sum, void *dst, const void *src, size_t len);

/* Sums n 32-bit words of a header; n is a small constant, so that the loop is unrolled. */
static inline uint64_t sl_csum_words(const void *data, unsigned n)
{
	const uint8_t *p = data;
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t w;

		memcpy(&w, p + (size_t)4 * i, 4);
		sum += w;
	}
	return sum;
}

/* Folds the sum to 16 bits and complements it: the value for the header, in memory order. */
static inline uint16_t sl_csum_fold(uint64_t sum)
{
	uint32_t half;

	/* The halves of a word, added to those of the same word turned: the carry out of the lower
	 * one goes into the upper, which is the sum with its carry brought round. */
	sum += sum >> 32 | sum << 32;
	half = (uint32_t)(sum >> 32);
	half += half >> 16 | half << 16;
	return (uint16_t) ~(half >> 16);
}

/* Adds two sums; a carry is brought round. */
static inline uint64_t sl_csum_add64(uint64_t sum, uint64_t v)
{
	sum += v;
	return sum + (sum < v);
}

#endif
