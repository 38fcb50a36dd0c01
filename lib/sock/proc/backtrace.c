/* SPDX-License-Identifier: BSD-2-Clause */
/* SLUICE_HANDLE_SIGSEGV: says in the log where a segmentation fault happened. */
#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/proc/backtrace.h"

#define DEPTH 64
/* A program may live by its faults (Java reads through null pointers, a debugger's target steps
 * over them): the first ones are told. */
#define TOLD_MAX 8

static uint32_t told;
static __thread bool telling;
static __thread sigjmp_buf out; /* of a backtrace that faults itself, on a broken stack */

/* The first backtrace(3) of a process loads libgcc_s, which no handler may. */
void sl_backtrace_begin(void)
{
	void *frame[2];

	if (sl_settings.handle_sigsegv)
		(void)backtrace(frame, 2);
}

static uintptr_t program_counter(const void *context)
{
#if defined(__x86_64__)
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
	return 0;
#endif
}

static void tell_frame(unsigned i, const void *at)
{
	Dl_info info;

	if (!dladdr(at, &info) || !info.dli_fname)
		sl_err("fault", "  #%u %p", i, at);
	else if (info.dli_sname)
		sl_err("fault", "  #%u %p %s+0x%zx in %s", i, at, info.dli_sname,
		       (size_t)((const char *)at - (const char *)info.dli_saddr), info.dli_fname);
	else
		sl_err("fault", "  #%u %p in %s+0x%zx", i, at, info.dli_fname,
		       (size_t)((const char *)at - (const char *)info.dli_fbase));
}

/* The frames above that of the fault are the handler's. An address that no unwinder knows (a jump
 * through a null pointer) is told by itself. */
static void tell_frames(uintptr_t pc)
{
	void *frame[DEPTH];
	int n = backtrace(frame, DEPTH), from = 0;

	for (int i = 0; i < n && !from; i++)
		if ((uintptr_t)frame[i] == pc)
			from = i;
	if (!from)
		tell_frame(0, (const void *)pc);
	for (int i = from; i < n; i++)
		tell_frame((unsigned)(i - from), frame[i]);
}

static void tell(const siginfo_t *info, const void *context)
{
	uintptr_t pc = program_counter(context);

	if (info->si_code > 0)
		sl_err("fault", "segmentation fault of thread %u: address %p, at %p", sl_tid(),
		       info->si_addr, (void *)pc);
	else
		sl_err("fault", "SIGSEGV sent to thread %u by process %d, at %p", sl_tid(),
		       (int)info->si_pid, (void *)pc);
	tell_frames(pc);
}

void sl_fault_tell(int sig, const void *info, const void *context)
{
	sigset_t one;

	if (telling)
		siglongjmp(out, 1);
	if (sig != SIGSEGV || !sl_settings.handle_sigsegv ||
	    __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED) >= TOLD_MAX)
		return;
	telling = true;
	if (!sigsetjmp(out, 1)) {
		sigemptyset(&one);
		sigaddset(&one, SIGSEGV);
		sl_sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &one, NULL, 8);
		tell(info, context);
		sl_sys(SYS_rt_sigprocmask, SIG_BLOCK, &one, NULL, 8);
	} else {
		sl_err("fault", "  (the stack cannot be read further)");
	}
	telling = false;
}
