/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw system calls, and the one wait that is a cancellation point. */
#include "base/sys.h"

#include <pthread.h>
#include <sys/mman.h>

long sl_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#else
	int saved = errno;
	long ret = syscall(nr, a, b, c, d, e, f);

	if (ret < 0)
		ret = -errno;
	errno = saved;
	return ret;
#endif
}

/* Makes a system call a cancellation point as the C library does. We cannot find the C library's
 * own functions from here: as a dependency of a preloaded library we stand behind it in the search
 * order. SL_APART: the compiler takes the assembler of a system call for code that cannot throw.
 * Were it inlined, a cancellation would not find the clean-ups of the caller. */
SL_APART long sl_sys_cancel6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = sl_syscall6(nr, a, b, c, d, e, f);
	pthread_setcanceltype(type, NULL);
	return ret;
}

int sl_sys_ppoll_cancel(struct pollfd *fds, unsigned nfds, const struct timespec *timeout,
			const sigset_t *sigmask)
{
	struct timespec ts; /* the kernel writes what is left into it */

	if (timeout)
		ts = *timeout;
	return (int)sl_sys_cancel(SYS_ppoll, fds, nfds, timeout ? &ts : NULL, sigmask, 8);
}

int sl_sys_mmap(void **mem, void *at, size_t bytes, int flags, int fd, long off)
{
	long p = sl_sys(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, fd, off);

	if (p < 0 && p > -4096)
		return (int)p;
	*mem = (void *)p;
	return 0;
}

void *sl_sys_pages(size_t bytes, int flags)
{
	void *p;

	return sl_sys_mmap(&p, NULL, bytes, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0) ? NULL : p;
}
