/* SPDX-License-Identifier: BSD-2-Clause */
/* The Internet checksum (RFC 1071): sums are kept in 64 bits, in memory byte order, and folded at
 * the end. */
#ifndef SL_CSUM_H
#define SL_CSUM_H

#include <string.h>

#include "base/base.h"

/* Adds len bytes to a running sum. Only the last piece of a packet may have an odd length. */
uint64_t sl_csum_add(uint64_t sum, const void *data, size_t len);

/* Copies and adds in one pass. */
uint64_t sl_csum_copy(uint64_t sum, void *dst, const void *src, size_t len);

/* 16 bits, complemented: what goes into the header (memory order). */
static inline uint16_t sl_csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static inline uint64_t sl_csum_add64(uint64_t sum, uint64_t v)
{
	sum += v;
	return sum + (sum < v);
}

#endif
