/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts signal handlers.
 *
 * Theory of operation: a signal handler ends a call that sleeps in the kernel (EINTR); a call that
 * polls in user space would not notice. So this library gives the kernel its own handler in place
 * of each of the program's. It counts (lib/sock/proc/sig.h) and calls the program's; the polling
 * loops look at the count. The program never sees it: sigaction() reports the program's own.
 * Handlers installed past these functions are not counted: a call that polls then ends when it goes
 * to sleep at the latest.
 *
 * A signal that interrupts the library while its thread holds a lock comes a little later
 * (base/held.h), so a handler may leave by siglongjmp(3) whatever it has interrupted. So that it
 * can come twice, SA_RESETHAND is done here, when the handler runs.
 *
 * SIGSEGV and SIGBUS get on_fault(), from the time when the library is loaded, also if the program
 * has no handler: a bad address that the program gave to a call is then EFAULT (base/guard.h). Any
 * other fault is the program's: its handler runs, or it dies of the signal as it would have. A
 * program that ignores these signals, or blocks them, dies of a bad address. */
#include "real.h"

#include <sys/syscall.h>

#define OURS ((int)(SA_SIGINFO | SA_RESETHAND)) /* flags that the kernel has differently */

typedef void (*handler_fn)(int, siginfo_t *, void *);

/* The program's handlers; written with all signals blocked and `busy` held, read by on_signal(). */
static struct {
	handler_fn fn;
	int flags;
} want[_NSIG];
/* The default actions as the program has set them, while on_fault() stands in their place. */
static struct sigaction fault_default[2];
static bool busy[_NSIG];
static uint64_t interrupts; /* signals that siginterrupt(3) made interrupting */

/* Frame of the innermost on_signal() of this thread. NULL: none runs, or siglongjmp(3) left it. */
static __thread const char *handler_frame;

static void reset(int sig)
{
	const struct sigaction dfl = {.sa_handler = SIG_DFL};

	REAL(sigaction)(sig, &dfl, NULL);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	handler_fn fn = __atomic_load_n(&want[sig].fn, __ATOMIC_ACQUIRE);
	const char *outer = handler_frame;
	int flags = sl_load(&want[sig].flags);

	if (lib_is_there() && lib.signal_seen(sig, info, context, flags & SA_RESTART))
		return;
	if (flags & SA_RESETHAND)
		reset(sig);
	handler_frame = __builtin_frame_address(0);
	/* Handlers with one argument ignore the other two. */
	if (fn)
		fn(sig, info, context);
	handler_frame = outer;
}

/* A handler's calls are below its frame on the same stack. A frame that is above the caller's on
 * the same stack was left by a jump, and so was one on the alternate stack while the caller is not
 * there (or the reverse). */
bool sl_in_signal(void)
{
	const char *here = __builtin_frame_address(0), *frame = handler_frame;
	stack_t alt = {.ss_flags = SS_DISABLE};
	bool frame_is_alt;

	if (sl_likely(!frame))
		return false;
	sl_raw(SYS_sigaltstack, NULL, &alt);
	frame_is_alt = !(alt.ss_flags & SS_DISABLE) && frame >= (char *)alt.ss_sp &&
		       frame < (char *)alt.ss_sp + alt.ss_size;
	if (frame_is_alt == !!(alt.ss_flags & SS_ONSTACK) && here < frame)
		return true;
	handler_frame = NULL;
	return false;
}

/* The default action, as if this handler had not been there: the access is tried once more, or the
 * signal that another process has sent is sent again. */
static void die_of(int sig, siginfo_t *info)
{
	reset(sig);
	if (info->si_code <= 0)
		sl_raw(SYS_rt_tgsigqueueinfo, getpid(), sl_raw(SYS_gettid), sig, info);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	bool by_access = info->si_code > 0;

	if (by_access && lib_is_there() && lib.fault(context))
		return;
	if (lib_is_there())
		lib.fault_tell(sig, info, context);
	if (__atomic_load_n(&want[sig].fn, __ATOMIC_ACQUIRE))
		on_signal(sig, info, context);
	else
		die_of(sig, info);
}

static bool is_fault(int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS) && lib_is_there();
}

static struct sigaction *default_of(int sig)
{
	return &fault_default[sig == SIGBUS];
}

static bool is_function(const struct sigaction *act)
{
	return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN &&
	       act->sa_handler != SIG_HOLD;
}

/* Tells the action that the program has set, in place of ours. */
static int current(int sig, struct sigaction *old)
{
	handler_fn fn = __atomic_load_n(&want[sig].fn, __ATOMIC_ACQUIRE);
	int r = REAL(sigaction)(sig, NULL, old);

	if (r < 0)
		return r;
	if (old->sa_sigaction == on_fault && !fn) {
		*old = *default_of(sig);
	} else if (old->sa_sigaction == on_fault || old->sa_sigaction == on_signal) {
		old->sa_sigaction = fn;
		old->sa_flags = (old->sa_flags & ~OURS) | (want[sig].flags & OURS);
	}
	return r;
}

static void lock(int sig, sigset_t *mask)
{
	uint64_t all = ~0ull;

	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, mask, 8);
	while (__atomic_exchange_n(&busy[sig], true, __ATOMIC_ACQUIRE))
		sl_cpu_relax();
}

static void unlock(int sig, const sigset_t *mask)
{
	__atomic_store_n(&busy[sig], false, __ATOMIC_RELEASE);
	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

static int install(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours = *act, was;
	int r = current(sig, &was);

	if (r < 0)
		return r;
	if (is_function(act) && act->sa_sigaction != on_signal && act->sa_sigaction != on_fault) {
		sl_store(&want[sig].flags, act->sa_flags);
		__atomic_store_n(&want[sig].fn, act->sa_sigaction, __ATOMIC_RELEASE);
		ours.sa_sigaction = is_fault(sig) ? on_fault : on_signal;
		ours.sa_flags &= ~(int)SA_RESETHAND;
		ours.sa_flags |= SA_SIGINFO;
	} else if (act->sa_handler == SIG_DFL && is_fault(sig)) {
		*default_of(sig) = *act;
		__atomic_store_n(&want[sig].fn, NULL, __ATOMIC_RELEASE);
		ours = (struct sigaction){.sa_flags = SA_SIGINFO | SA_ONSTACK};
		ours.sa_sigaction = on_fault;
	}
	r = REAL(sigaction)(sig, &ours, NULL);
	if (r == 0 && old)
		*old = was;
	return r;
}

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction was;
	sigset_t mask;
	int r;

	if (sig <= 0 || sig >= _NSIG || (sl_in_vfork && act))
		return REAL(sigaction)(sig, act, old);
	if (!act) {
		r = current(sig, &was);
		if (r == 0 && old)
			*old = was;
		return r;
	}
	lock(sig, &mask);
	r = install(sig, act, old);
	unlock(sig, &mask);
	return r;
}

/* A sanitizer has handlers of its own for these signals, which report what went wrong. */
void sl_faults_begin(void)
{
#ifndef __SANITIZE_ADDRESS__
	static const int faults[] = {SIGSEGV, SIGBUS};

	for (size_t i = 0; i < sl_array_len(faults); i++) {
		struct sigaction act;
		sigset_t mask;

		lock(faults[i], &mask);
		if (!current(faults[i], &act) && act.sa_handler != SIG_IGN)
			install(faults[i], &act, NULL);
		unlock(faults[i], &mask);
	}
#endif
}

static sighandler_t set(int sig, sighandler_t handler, int flags, bool block)
{
	struct sigaction act = {.sa_flags = flags}, old;

	if (handler == SIG_ERR || sig <= 0 || sig >= _NSIG) {
		errno = EINVAL;
		return SIG_ERR;
	}
	act.sa_handler = handler;
	sigemptyset(&act.sa_mask);
	if (block)
		sigaddset(&act.sa_mask, sig);
	return sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

/* BSD semantics: the call is restarted, and the signal is blocked in its handler (signal(2)). */
sighandler_t signal(int sig, sighandler_t handler)
{
	bool stops = sig > 0 && sig < _NSIG && (sl_load(&interrupts) >> (sig - 1) & 1);

	return set(sig, handler, stops ? 0 : SA_RESTART, true);
}

sighandler_t bsd_signal(int sig, sighandler_t handler) __attribute__((alias("signal")));
sighandler_t ssignal(int sig, sighandler_t handler) __attribute__((alias("signal")));

/* System V semantics; `signal` in programs built with -std=c99. */
sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return set(sig, handler, SA_RESETHAND | SA_NODEFER, false);
}

sighandler_t __sysv_signal(int sig, sighandler_t handler) __attribute__((alias("sysv_signal")));

int siginterrupt(int sig, int flag)
{
	struct sigaction act;

	if (sigaction(sig, NULL, &act) < 0)
		return -1;
	if (flag) {
		__atomic_or_fetch(&interrupts, 1ull << (sig - 1), __ATOMIC_RELAXED);
		act.sa_flags &= ~SA_RESTART;
	} else {
		__atomic_and_fetch(&interrupts, ~(1ull << (sig - 1)), __ATOMIC_RELAXED);
		act.sa_flags |= SA_RESTART;
	}
	return sigaction(sig, &act, NULL);
}

int __sigaction(int sig, const struct sigaction *act, struct sigaction *old) __THROW
	__attribute__((alias("sigaction")));

/* System V's; SIG_HOLD blocks the signal, and is returned for one that was blocked. */
sighandler_t sigset(int sig, sighandler_t handler)
{
	struct sigaction act;
	sighandler_t old;
	sigset_t one, was;

	sigemptyset(&one);
	if (handler == SIG_ERR || sigaddset(&one, sig) < 0) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (handler == SIG_HOLD)
		old = sigaction(sig, NULL, &act) < 0 ? SIG_ERR : act.sa_handler;
	else
		old = set(sig, handler, 0, false);
	if (old == SIG_ERR ||
	    sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &one, &was))
		return SIG_ERR;
	return sigismember(&was, sig) ? SIG_HOLD : old;
}
