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

void sl_lock_slow(struct sl_lock *l)
{
	for (int i = 0; i < SPINS; i++) {
		uint32_t free = 0;

		if (sl_load(&l->word) == 0 &&
		    __atomic_compare_exchange_n(&l->word, &free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
		sl_cpu_relax();
	}
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		sl_sys(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void sl_unlock_slow(struct sl_lock *l)
{
	sl_sys(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
