/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of a lane: spins shortly, then sleeps on a futex. It knows its owner, so that a signal
 * handler that calls into the library while its own thread holds the lock is told (it then uses
 * the kernel) instead of waiting for itself. */
#ifndef SL_LOCK_H
#define SL_LOCK_H

#include "base/base.h"

struct sl_lock {
	uint32_t word;	/* 0 free, 1 taken, 2 taken with sleepers */
	uint32_t owner; /* thread id of the holder, for the signal-handler check only */
};

extern __thread uint32_t sl_tid_cache __attribute__((tls_model("initial-exec")));
uint32_t sl_tid_slow(void);
void sl_lock_slow(struct sl_lock *l);
void sl_unlock_slow(struct sl_lock *l);

static inline uint32_t sl_tid(void)
{
	uint32_t t = sl_tid_cache;

	return sl_likely(t) ? t : sl_tid_slow();
}

/* Takes the lock. False: this very thread holds it already (we are in a signal handler). */
static inline bool sl_lock(struct sl_lock *l)
{
	uint32_t free = 0;
	uint32_t me = sl_tid();

	if (sl_unlikely(!__atomic_compare_exchange_n(&l->word, &free, 1, false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED))) {
		if (sl_load(&l->owner) == me)
			return false;
		sl_lock_slow(l);
	}
	sl_store(&l->owner, me);
	return true;
}

/* Takes the lock if nobody has it. */
static inline bool sl_trylock(struct sl_lock *l)
{
	uint32_t free = 0;

	if (!__atomic_compare_exchange_n(&l->word, &free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	sl_store(&l->owner, sl_tid());
	return true;
}

static inline void sl_unlock(struct sl_lock *l)
{
	sl_store(&l->owner, 0);
	if (sl_unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		sl_unlock_slow(l);
}

#endif
