/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS).
 *
 * Theory of operation: the C library ends such a thread in the handler of a signal of its own,
 * wherever it is, also while it holds a lock of the library: the other threads would wait for that
 * lock for ever. So this library's handler stands in front of it, and that signal, too, comes when
 * no lock is held (base/held.h). The C library installs its handler at the first pthread_cancel(3);
 * so that this one is there before a thread of the program is cancelled, the first is of a thread
 * that does nothing. */
#include "real.h"

#include <sys/syscall.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#define STACK_BYTES (128 << 10)
#define SIGCANCEL   __SIGRTMIN /* the C library's, which its own functions do not let one ask for */

typedef void (*handler_fn)(int, siginfo_t *, void *);

static struct {
	handler_fn fn;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
} action; /* the kernel's view of the C library's handler */

static handler_fn theirs;

static void on_cancel(int sig, siginfo_t *info, void *context)
{
	if (!lib.signal_seen(sig, info, context, true))
		theirs(sig, info, context);
}

static void *wait_for_it(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Makes the C library install its handler. The thread gets no signal of the program's, and not the
 * program's stack of 8 MB, which mlockall(2) would bring into memory. */
static void cancel_one(void)
{
	uint64_t all = ~0ull, mask;
	pthread_attr_t attr;
	pthread_t t;
	int err;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	err = pthread_create(&t, &attr, wait_for_it, NULL);
	if (err == EINVAL) /* (the program has more thread-local storage) */
		err = pthread_create(&t, NULL, wait_for_it, NULL);
	if (!err) {
		REAL(pthread_cancel)(t);
		pthread_join(t, NULL);
	}
	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	pthread_attr_destroy(&attr);
}

static bool is_installed(void)
{
	return !sl_raw(SYS_rt_sigaction, SIGCANCEL, NULL, &action, 8) && action.fn;
}

static void stand_in_front(void)
{
	if (!is_installed())
		cancel_one();
	if (!is_installed())
		return;
	theirs = action.fn;
	action.fn = on_cancel;
	sl_raw(SYS_rt_sigaction, SIGCANCEL, &action, NULL, 8);
}

int pthread_cancel(pthread_t t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	if (lib_is_there() && !sl_in_vfork) {
		pthread_once(&once, stand_in_front);
		errno = saved;
	}
	return REAL(pthread_cancel)(t);
}

#endif
