/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of a lane: spins briefly, then sleeps on a futex. The lock knows its owner: a signal
 * handler that calls into the library while its own thread holds the lock gets false (and uses the
 * kernel) instead of a deadlock. The program's handlers that the preload library wraps are put off
 * meanwhile (held.h): a jump out of one leaves no lock held. */
#ifndef SL_LOCK_H
#define SL_LOCK_H

#include "base/base.h"
#include "base/held.h"

/* The word holds the owner's thread id, so a signal handler never finds the lock taken without an
 * owner. */
struct sl_lock {
	uint32_t word; /* 0: free; else the holder's thread id, and SL_LOCK_SLEEPERS */
};
#define SL_LOCK_SLEEPERS (1u << 31) /* thread ids are far below (PID_MAX_LIMIT) */

extern __thread uint32_t sl_tid_cache __attribute__((tls_model("initial-exec")));
uint32_t sl_tid_slow(void);
void sl_lock_slow(struct sl_lock *l);
/* How a thread waits for a lock that another holds (SLUICE_THREAD_MODE): it spins for some
 * microseconds, or gives the processor away a few times, and sleeps then; or it sleeps at once. Set
 * at the start. */
enum sl_lock_wait { SL_LOCK_SPINS, SL_LOCK_YIELDS, SL_LOCK_SLEEPS };
extern enum sl_lock_wait sl_lock_wait;
void sl_unlock_slow(struct sl_lock *l);

static inline uint32_t sl_tid(void)
{
	uint32_t t = sl_tid_cache;

	return sl_likely(t) ? t : sl_tid_slow();
}

/* Takes the lock. False: this thread holds it already (the caller is a signal handler). */
static inline bool sl_lock(struct sl_lock *l)
{
	uint32_t word = 0, me = sl_tid();

	sl_hold();
	if (sl_likely(__atomic_compare_exchange_n(&l->word, &word, me, false, __ATOMIC_ACQUIRE,
						  __ATOMIC_RELAXED)))
		return true;
	if ((word & ~SL_LOCK_SLEEPERS) == me) {
		sl_release();
		return false;
	}
	sl_lock_slow(l);
	return true;
}

/* Takes the lock if it is free. */
static inline bool sl_trylock(struct sl_lock *l)
{
	uint32_t word = 0;

	sl_hold();
	if (sl_likely(__atomic_compare_exchange_n(&l->word, &word, sl_tid(), false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return true;
	sl_release();
	return false;
}

static inline void sl_unlock(struct sl_lock *l)
{
	if (sl_unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) & SL_LOCK_SLEEPERS))
		sl_unlock_slow(l);
	sl_release();
}

#endif
