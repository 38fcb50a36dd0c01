/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of values that a remote peer chooses: multilinear, strongly universal with a random key
 * (Lemire and Kaser, "Strongly universal string hashing is fast", 2014). A peer that does not know
 * the key cannot build collisions, even if it has observed tables with other keys. */
#ifndef SL_HASH_H
#define SL_HASH_H

#include "base/addr.h"
#include "base/clock.h"
#include "base/sys.h"

struct sl_hash_key {
	uint64_t k[8]; /* k[0] is 0: not made yet */
};

/* Makes the key. Call once, before the first lookup in the table, or with the table's lock held. */
static inline void sl_hash_key_make(struct sl_hash_key *key)
{
	struct sl_hash_key new = {{0}};

	if (sl_sys(SYS_getrandom, &new, sizeof(new), 0) != sizeof(new))
		for (unsigned i = 0; i < sl_array_len(new.k); i++)
			new.k[i] = sl_mix(sl_now_ns(), (uintptr_t)key + i);
	for (unsigned i = 1; i < sl_array_len(new.k); i++)
		sl_store(&key->k[i], new.k[i]);
	sl_store_release(&key->k[0], new.k[0] | 1);
}

/* A sum is linear in its words, so with one key in twenty values in a row (ports, hosts of a
 * network) would meet in a few places of a table. A multiplication of all its bits parts them. */
static inline uint32_t sl_hash_end(uint64_t sum)
{
	return (uint32_t)(((sum ^ sum >> 32) * 0x9fb21c651e98df25) >> 32);
}

static inline uint32_t sl_hash_two(const struct sl_hash_key *key, uint32_t a, uint32_t b)
{
	return sl_hash_end(key->k[0] + key->k[1] * a + key->k[2] * b);
}

/* The hash of an address and one more word. */
static inline uint32_t sl_hash_addr(const struct sl_hash_key *key, uint32_t beside,
				    const struct sl_addr *addr)
{
	uint64_t sum = key->k[0] + key->k[1] * beside;

	for (int i = 0; i < 4; i++)
		sum += key->k[2 + i] * addr->w[i];
	return sl_hash_end(sum);
}

#endif
