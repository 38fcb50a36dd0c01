/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow half of the lane lock: bounded spin, then futex sleep (Drepper, "Futexes Are Tricky", 2);
 * and signals that come when no lock is held (held.h).
 *
 * Theory of operation of the latter: the handler in front of the program's sends the signal to its
 * own thread once more, with all that came with it, and returns with the signal blocked. The end of
 * the outermost section unblocks it, and the kernel delivers it as if it had come then: mask,
 * alternate stack and data are the program's. A sleep inside a section must end, too. The kernel
 * ends it with EINTR; if the signal comes just before the sleep begins, the handler sets its
 * time-out to zero, which the kernel has not read yet. */
#include "base/lock.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/ucontext.h>

#include "base/sys.h"

/* Holders keep a lane for about a microsecond; a preempted holder is gone for a quantum. */
#define SPINS  200
#define YIELDS 16 /* system calls; a sleep takes two, and the holder one more */

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

enum sl_lock_wait sl_lock_wait;

/* Waits as sl_lock_wait says, but does not sleep. False: the lock was held all the time. */
static bool spin(struct sl_lock *l, uint32_t me)
{
	bool yields = sl_lock_wait == SL_LOCK_YIELDS;
	int n = yields ? YIELDS : sl_lock_wait == SL_LOCK_SLEEPS ? 0 : SPINS;

	while (n-- > 0) {
		if (take(l, me))
			return true;
		if (yields)
			sl_sys(SYS_sched_yield);
		else
			sl_cpu_relax();
	}
	return false;
}

void sl_lock_slow(struct sl_lock *l)
{
	uint32_t me = sl_tid(), word;

	if (spin(l, me))
		return;
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

/* Signals that are put off ----------------------------------------------------------------------
 */

static __thread uint64_t waiting __attribute__((tls_model("initial-exec"))); /* as a signal mask */

/* All signals are blocked between the two writes, since the handler of another one may jump. */
static void deliver(void)
{
	uint64_t all = ~0ull, mask;

	sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	mask &= ~waiting;
	waiting = 0;
	sl_held = 0;
	sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

void sl_held_over(void)
{
	if (sl_held == SL_HELD_SIGNALS)
		deliver();
	else if (sl_held == UINT32_MAX) /* (a handler past us has ended what it interrupted) */
		sl_held = 0;
}

/* The instruction itself has raised it: it would do so again at once. */
static bool is_fault(int sig, const siginfo_t *info)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGSYS:
		return info->si_code > 0;
	default:
		return false;
	}
}

bool sl_held_defer(int sig, void *info, void *context)
{
	uint64_t bit = 1ull << (sig - 1), mask;
	ucontext_t *c = context;

	/* (At the outermost end it is SL_HELD_SIGNALS until deliver() blocks all.) */
	if (sl_likely(!sl_held) || is_fault(sig, info))
		return false;
	sl_sys(SYS_rt_sigprocmask, SIG_BLOCK, &bit, &mask, 8); /* (SA_NODEFER) */
	if (sl_sys(SYS_rt_tgsigqueueinfo, sl_sys(SYS_getpid), sl_tid(), sig, info) < 0) {
		sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
		return false;
	}
	sigaddset(&c->uc_sigmask, sig);
	waiting |= bit;
	sl_held |= SL_HELD_SIGNALS;
	if (sl_held_sleep)
		*sl_held_sleep = (struct timespec){0, 0};
	return true;
}

void sl_held_child(void)
{
	sl_held_sleep = NULL;
	if (sl_held & SL_HELD_SIGNALS)
		deliver();
	sl_held = 0;
}
