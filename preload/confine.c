/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that confines itself (seccomp(2)): the library is told before.
 *
 * Theory of operation: afterwards a system call that the program does not make itself may be its
 * death. There is no function for seccomp(2) but prctl(2), of old, and syscall(2) (syscall.c). */
#include "real.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>

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
