/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). */
#include "wire/siphash.h"

#include <string.h>

static uint64_t rotl(uint64_t x, unsigned b)
{
	return x << b | x >> (64 - b);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	sip_round(v);
	sip_round(v);
	v[0] ^= m;
}

/* The last word that is hashed: the remaining bytes, and the length. */
static uint64_t sip_tail(const uint8_t *p, size_t n)
{
	uint64_t m = (uint64_t)n << 56;

	for (size_t i = 0; i < (n & 7); i++)
		m |= (uint64_t)p[i] << (8 * i);
	return m;
}

uint64_t sl_siphash(const uint8_t key[16], const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t k[2], m, v[4];

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575u;
	v[1] = k[1] ^ 0x646f72616e646f6du;
	v[2] = k[0] ^ 0x6c7967656e657261u;
	v[3] = k[1] ^ 0x7465646279746573u;
	for (size_t i = 0; i < n / 8; i++, p += 8) {
		memcpy(&m, p, sizeof(m));
		sip_word(v, m);
	}
	sip_word(v, sip_tail(p, n));
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
