/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls by which a program confines itself (seccomp(2)): the library hears of each before.
 *
 * Theory of operation: after such a call a system call that the program does not make itself may
 * kill it. The C library has no function for seccomp(2): programs use prctl(2) or syscall(2)
 * (syscall.c). A child that may open no more descriptors (sshd's, by setrlimit(2)) can get none
 * from its parent, so its connections are fetched before the limit. After a limit of threads the
 * library can make none, so it starts before that. */
#include "real.h"

#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FEW_FILES 64 /* a program may have so few in all */

/* Looks up all calls now: a look-up may need memory, and so system calls. Later than this the
 * library is not loaded any more. filter: NULL for SECCOMP_MODE_STRICT. */
static void confine(const void *filter)
{
	int saved = errno;

	for (int call = 0; call < SL_CALL_COUNT; call++)
		sl_real_get((enum sl_call)call);
	if (!lib_is_there())
		sl_lib_never();
	else if (!sl_in_vfork)
		lib.confine(filter);
	errno = saved;
}

/* This thread, and threads that it makes, may not read the time stamp counter any more, which is
 * the library's clock (and that of the C library, which such a program does not ask for). */
static void before_no_clock(void)
{
	if (!lib_is_there()) {
		sl_lib_never();
	} else if (!sl_in_vfork) {
		sl_leave_all("the program may not read the time stamp counter");
		lib.confine(NULL);
	}
}

int prctl(int op, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, op);
	for (unsigned i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (op == PR_SET_TSC && arg[0] == PR_TSC_SIGSEGV)
		before_no_clock();
	if (op == PR_SET_SECCOMP)
		confine(arg[0] == SECCOMP_MODE_FILTER ? (const void *)arg[1] : NULL);
	return REAL(prctl)(op, arg[0], arg[1], arg[2], arg[3]);
}

/* A sanitizer sets limits before the code that it added to this library can run. */
#define NOT_SANITIZED __attribute__((no_sanitize("address", "undefined", "thread")))

/* The C library declares `to` as never NULL; a program may pass NULL all the same. */
static bool NOT_SANITIZED __attribute__((noipa))
wants_few(__rlimit_resource_t which, const struct rlimit *to)
{
	return which == RLIMIT_NOFILE && to && to->rlim_cur < FEW_FILES;
}

static bool NOT_SANITIZED __attribute__((noipa))
wants_no_thread(__rlimit_resource_t which, const struct rlimit *to)
{
	return which == RLIMIT_NPROC && to && to->rlim_max <= 1;
}

static void __attribute__((noipa)) before_limit(void)
{
	int saved = errno;

	if (lib_is_there() && !sl_in_vfork)
		lib.settle();
	errno = saved;
}

static void __attribute__((noipa)) before_few_files(void)
{
	int saved = errno;

	if (lib_is_there() && !sl_in_vfork)
		lib.fetch();
	errno = saved;
}

/* A worker that will make no child any more, as haproxy's: the library's thread is made before. (A
 * process that may open few files has no use for it: sshd's child, which a filter confines next.)
 */
static void __attribute__((noipa)) before_no_thread(void)
{
	struct rlimit64 files;

	if (!sl_in_vfork && !sl_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) &&
	    files.rlim_cur >= FEW_FILES && sl_lib_load())
		lib.start_early();
}

static void __attribute__((noipa)) after_limit(void)
{
	if (lib_is_there() && !sl_in_vfork)
		lib.files_limited();
}

NOT_SANITIZED int setrlimit(__rlimit_resource_t which, const struct rlimit *to)
{
	int r;

	if (which == RLIMIT_NOFILE)
		before_limit();
	if (wants_few(which, to))
		before_few_files();
	if (wants_no_thread(which, to))
		before_no_thread();
	r = (int)sl_raw(SYS_prlimit64, 0, which, to, NULL);
	if (r == 0 && which == RLIMIT_NOFILE)
		after_limit();
	return r;
}

int setrlimit64(__rlimit_resource_t which, const struct rlimit64 *to)
	__attribute__((alias("setrlimit")));
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "setrlimit64() is setrlimit()");

/* The library's addresses in use may be beyond the limit where the program's are not. */
__attribute__((visibility("default"))) int mlockall(int flags)
{
	int saved = errno, r = REAL(mlockall)(flags);

	if (r == 0 || errno != ENOMEM || !(flags & MCL_CURRENT) || !lib_is_there() || sl_in_vfork)
		return r;
	r = lib.lock_all(flags);
	errno = r < 0 ? -r : saved;
	return r < 0 ? -1 : 0;
}

/* Landlock forbids ports in connect(2), which a connection of ours does not make. (What it forbids
 * in files does not concern the library.) */

static bool has_ports; /* some set of rules of this process is about ports; atomic */

SL_SYS(landlock_create)
{
	struct {
		uint64_t files, ports;
	} attr;
	int saved = errno;

	SL_SYS_UNUSED;
	if (a && (size_t)b >= sizeof(attr) &&
	    (!lib_is_there() || lib.is_memory((const void *)a, sizeof(attr)))) {
		memcpy(&attr, (const void *)a, sizeof(attr));
		if (attr.ports)
			sl_store(&has_ports, true);
	}
	errno = saved;
	return sl_raw(SL_LANDLOCK_CREATE, a, b, c);
}

SL_SYS(landlock_restrict)
{
	long r;

	SL_SYS_UNUSED;
	if (sl_load(&has_ports) && !sl_in_vfork)
		sl_leave_all("Landlock decides which ports this process may use");
	r = sl_raw(SL_LANDLOCK_RESTRICT, a, b);
	return r;
}

#if defined(__x86_64__)
long sl_seccomp(unsigned long op, unsigned long flags, void *args)
{
	long r;

	/* (libseccomp asks by a NULL filter what the kernel can do.) */
	if (op == SECCOMP_SET_MODE_STRICT || (op == SECCOMP_SET_MODE_FILTER && args))
		confine(args);
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_seccomp), "D"(op), "S"(flags), "d"(args)
			 : "rcx", "r11", "memory");
	return done(r);
}
#endif
