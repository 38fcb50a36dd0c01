/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow half of the lock that processes share: bounded spin, then a bounded sleep on its futex. */
#include "base/share/rlock.h"

#include <linux/futex.h>

#include "base/sys.h"

/* Holders keep the lock for about a microsecond. */
#define SPINS 200
/* Wait for a holder in another process. It returns in a few quanta if it was preempted, and is
 * buried in a few milliseconds if it died; after this time it must be stopped (SIGSTOP, a frozen
 * cgroup), and the caller goes on without the lock. */
#define PATIENCE_NS 20000000ll
/* A holder in this process gets longer than the owner of the group believes any word
 * (tools/sluiced/broken.c), but no longer: another member may have written our number there.
 * Counted in naps, too, since time goes on while a process is stopped. */
#ifndef OWN_NAPS
#define OWN_NAPS 2000
#endif
/* A holder that was preempted on this processor runs again when the caller yields. */
#define YIELDS 4
/* A dead member's word does not change; the bound is for a live member that writes to it anyway. */
#define INHERIT_TRIES 16

static bool take(struct sl_rlock *l, uint32_t as)
{
	uint32_t free = 0;

	return sl_load(&l->word) == 0 &&
	       __atomic_compare_exchange_n(&l->word, &free, as, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	sl_sys(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* Marks the lock as having sleepers. False: its word has changed meanwhile. */
static bool want_waking(struct sl_rlock *l, uint32_t word)
{
	return word && ((word & SL_RLOCK_SLEEPERS) ||
			__atomic_compare_exchange_n(&l->word, &word, word | SL_RLOCK_SLEEPERS,
						    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* SL_APART: seen through a pool that is not there yet, gcc 12 warns of a lock at NULL. */
SL_APART bool sl_rlock_slow(struct sl_rlock *l, uint32_t me)
{
	const struct timespec slice = {.tv_nsec = PATIENCE_NS};
	uint32_t word, us = me >> SL_RLOCK_SHIFT, naps = 0;
	int64_t end, now;

	for (int i = 0; i < SPINS; i++) {
		if (take(l, me))
			return true;
		sl_cpu_relax();
	}
	end = now_ns() + PATIENCE_NS;
	/* This thread cannot know whether others sleep too, so it sets SLEEPERS. */
	while (!take(l, me | SL_RLOCK_SLEEPERS)) {
		word = sl_load(&l->word);
		now = now_ns();
		if (word && now >= end &&
		    (sl_rlock_named(word) != us ||
		     (naps++ >= OWN_NAPS && now >= end + OWN_NAPS * PATIENCE_NS)))
			return false;
		if (want_waking(l, word))
			sl_sys(SYS_futex, &l->word, FUTEX_WAIT, word | SL_RLOCK_SLEEPERS, &slice);
	}
	return true;
}

bool sl_rlock_try(struct sl_rlock *l, uint8_t me)
{
	sl_hold();
	for (int yield = 0; yield <= YIELDS; yield++) {
		for (int i = 0; i < SPINS; i++) {
			if (take(l, sl_rlock_me(me)))
				return true;
			sl_cpu_relax();
		}
		sl_sys(SYS_sched_yield);
	}
	sl_release();
	return false;
}

void sl_runlock_slow(struct sl_rlock *l)
{
	sl_sys(SYS_futex, &l->word, FUTEX_WAKE, 1);
}

bool sl_rlock_inherit(struct sl_rlock *l, uint8_t me, uint8_t dead)
{
	uint32_t word = sl_load(&l->word);

	sl_hold();
	for (int i = 0; i < INHERIT_TRIES && word && sl_rlock_named(word) == dead; i++)
		if (__atomic_compare_exchange_n(&l->word, &word,
						sl_rlock_me(me) | (word & SL_RLOCK_SLEEPERS), false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
	sl_release();
	return false;
}
