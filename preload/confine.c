/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that confines itself (seccomp(2)): the library is told before.
 *
 * Theory of operation: afterwards a system call that the program does not make itself may be its
 * death. There is no function for seccomp(2) but prctl(2), of old, and syscall(2) (syscall.c). A
 * child that may open no descriptors any more (sshd's, by setrlimit(2)) can get none from its
 * parent: its connections are fetched before. */
#include "real.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#define FEW_FILES 64 /* that a program might have all in use */

/* A look-up may need memory. */
static void confine(void)
{
	int saved = errno;

	for (int call = 0; call < SL_CALL_COUNT; call++)
		sl_real_get((enum sl_call)call);
	if (lib_is_there() && !sl_in_vfork)
		lib.confine();
	errno = saved;
}

int prctl(int op, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, op);
	for (unsigned i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (op == PR_SET_SECCOMP)
		confine();
	return REAL(prctl)(op, arg[0], arg[1], arg[2], arg[3]);
}

/* A sanitizer sets limits before it is ready for what it has put into this library. */
#define NOT_SANITIZED __attribute__((no_sanitize("address", "undefined", "thread")))

/* (The C library says that `to` is never NULL; a program may say otherwise.) */
static bool NOT_SANITIZED __attribute__((noipa))
wants_few(__rlimit_resource_t which, const struct rlimit *to)
{
	return which == RLIMIT_NOFILE && to && to->rlim_cur < FEW_FILES;
}

static void __attribute__((noipa)) before_few_files(void)
{
	int saved = errno;

	if (lib_is_there() && !sl_in_vfork)
		lib.fetch();
	errno = saved;
}

NOT_SANITIZED int setrlimit(__rlimit_resource_t which, const struct rlimit *to)
{
	if (wants_few(which, to))
		before_few_files();
	return (int)syscall(SYS_prlimit64, 0, which, to, NULL);
}

int setrlimit64(__rlimit_resource_t which, const struct rlimit64 *to)
	__attribute__((alias("setrlimit")));
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "setrlimit64() is setrlimit()");

#if defined(__x86_64__)
long sl_seccomp(unsigned long op, unsigned long flags, void *args)
{
	long r;

	if (op == SECCOMP_SET_MODE_STRICT || op == SECCOMP_SET_MODE_FILTER)
		confine();
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_seccomp), "D"(op), "S"(flags), "d"(args)
			 : "rcx", "r11", "memory");
	return done(r);
}
#endif
