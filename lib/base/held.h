/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections that no signal handler of the program may interrupt, since it may leave them by a jump:
 * while the thread holds a lock (lock.h), or lists have an object on its stack. */
#ifndef SL_HELD_H
#define SL_HELD_H

#include <time.h>

#include "base/base.h"

#define SL_HELD_SIGNALS (1u << 31) /* signals wait for the end of the outermost section */

/* This thread's sections, one inside the other, and SL_HELD_SIGNALS. */
extern __thread uint32_t sl_held __attribute__((tls_model("initial-exec")));
/* The time-out of the sleep that this thread is about to begin inside a section (sys.c); NULL:
 * none. */
extern __thread struct timespec *sl_held_sleep __attribute__((tls_model("initial-exec")));

/* The end of a section while signals wait, or of none. */
void sl_held_over(void);

/* Begins a section. One instruction: a signal between a load and a store would set a flag that the
 * store loses. */
static inline void sl_hold(void)
{
#if defined(__x86_64__)
	__asm__ volatile("incl %0" : "+m"(sl_held) : : "cc", "memory");
#else
	__atomic_fetch_add(&sl_held, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Ends it. At the end of the outermost one the signals come that were put off, so their handlers
 * may run in here, and may never return. */
static inline void sl_release(void)
{
	bool odd; /* signals wait, or there was no section */

#if defined(__x86_64__)
	__asm__ volatile("decl %0" : "+m"(sl_held), "=@ccs"(odd) : : "memory");
#else
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	odd = __atomic_sub_fetch(&sl_held, 1, __ATOMIC_RELAXED) & SL_HELD_SIGNALS;
#endif
	if (sl_unlikely(odd))
		sl_held_over();
}

/* Called by a signal handler with its arguments. True: the thread is in a section, and the signal
 * comes again at its end; until then it is blocked, and a sleep of the section ends. */
bool sl_held_defer(int sig, void *info, void *context);
/* In a child of fork: the sections were the parent's. */
void sl_held_child(void);

#endif
