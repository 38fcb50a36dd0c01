/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall(2) by the bare instruction, which no library can see: how a test looks at the kernel's
 * socket behind a descriptor. errno and -1 as there. */
#ifndef RAW_H
#define RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
/* (The library leaves programs to the kernel that set a number right before the instruction.) */
static __attribute__((noinline, noclone, unused)) long raw_call(long nr, long a, long b, long c,
								long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if ((unsigned long)r < -4095ul)
		return r;
	errno = (int)-r;
	return -1;
}
#define raw_(nr, a, b, c, d, e, f, ...)                                                            \
	raw_call((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define raw(...) raw_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#else
#define raw syscall /* the preload library does not define it there */
#endif

#endif
