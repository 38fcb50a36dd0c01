/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of values that a remote peer chooses: multilinear, strongly universal with a random key
 * (Lemire and Kaser, "Strongly universal string hashing is fast", 2014). A peer that does not know
 * the key cannot build collisions, even if it has observed tables with other keys. */
#ifndef SL_HASH_H
#define SL_HASH_H

#include <sys/mman.h>

#include "base/addr.h"
#include "base/apart.h"
#include "base/clock.h"
#include "base/sys.h"

struct sl_hash_key {
	uint64_t k[8]; /* k[0] is 0: not made yet */
};

/* Makes the key. Call once, before the first lookup in the table, or with the table's lock held.
 * (The stack of a child has what the parent's stack has, so no copy of the key is made there.) */
static inline void sl_hash_key_make(struct sl_hash_key *key)
{
	const size_t bytes = sizeof(key->k) - sizeof(key->k[0]);
	uint64_t first = 0;

	if (sl_sys(SYS_getrandom, &key->k[1], bytes, 0) != (long)bytes ||
	    sl_sys(SYS_getrandom, &first, sizeof(first), 0) != sizeof(first))
		for (unsigned i = 1; i < sl_array_len(key->k); i++)
			sl_store(&key->k[i], sl_mix(sl_now_ns(), (uintptr_t)key + i));
	sl_store_release(&key->k[0], first | 1);
	sl_apart_wipe(&first, sizeof(first));
}

static SL_COLD __attribute__((unused)) const struct sl_hash_key *
sl_hash_key_new(struct sl_hash_key **at)
{
	static const struct sl_hash_key none;
	struct sl_hash_key *key = sl_load_acquire(at), *new;

	if (!key) {
		new = sl_apart_secret(sizeof(*new));
		if (!new)
			return &none;
		if (__atomic_compare_exchange_n(at, &key, new, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			key = new;
		else
			sl_sys(SYS_munmap, new, sizeof(*new));
	}
	sl_hash_key_make(key);
	return key;
}

/* The key of a table that lasts as long as the process. A child, which may become another user and
 * whose user would know the parent's keys then, has zeros there (sl_apart_secret()) and makes a key
 * of its own: what its table holds from the parent has no place in it any more. Threads that make
 * the key at the same time may look in wrong places meanwhile. k[0] is 0 without memory. */
static inline const struct sl_hash_key *sl_hash_key_get(struct sl_hash_key **at)
{
	const struct sl_hash_key *key = sl_load_acquire(at);

	return sl_likely(key && sl_load_acquire(&key->k[0])) ? key : sl_hash_key_new(at);
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
