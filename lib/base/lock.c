/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow half of the lane lock: bounded spin, then futex sleep (Drepper, "Futexes Are Tricky", 2). */
#include "base/lock.h"

#include <linux/futex.h>

#include "base/sys.h"

/* Holders keep a lane for about a microsecond; a preempted holder is gone for a quantum. */
#define SPINS 200

__thread uint32_t sl_tid_cache __attribute__((tls_model("initial-exec")));

uint32_t sl_tid_slow(void)
{
	sl_tid_cache = (uint32_t)sl_sys(SYS_gettid);
	return sl_tid_cache;
}

static bool take(struct sl_lock *l, uint32_t as)
{
	uint32_t free = 0;

	return sl_load(&l->word) == 0 &&
	       __atomic_compare_exchange_n(&l->word, &free, as, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void sl_lock_slow(struct sl_lock *l)
{
	uint32_t me = sl_tid(), word;

	for (int i = 0; i < SPINS; i++) {
		if (take(l, me))
			return;
		sl_cpu_relax();
	}
	/* This thread cannot know whether others sleep too, so it sets SLEEPERS. */
	while (!take(l, me | SL_LOCK_SLEEPERS)) {
		word = sl_load(&l->word);
		if (word == 0)
			continue;
		if (!(word & SL_LOCK_SLEEPERS) &&
		    !__atomic_compare_exchange_n(&l->word, &word, word | SL_LOCK_SLEEPERS, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		sl_sys(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, word | SL_LOCK_SLEEPERS, NULL, NULL,
		       0);
	}
}

void sl_unlock_slow(struct sl_lock *l)
{
	sl_sys(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
