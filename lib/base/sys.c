/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw system calls, and the one wait that is a cancellation point. */
#include "base/sys.h"

#include <dlfcn.h>

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

typedef int (*sl_ppoll_fn)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

/* The C library's own ppoll, asked of the C library by name: it may stand before or behind us in
 * the search order, and the preload library's must not be found. */
static sl_ppoll_fn find_ppoll(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	return libc ? (sl_ppoll_fn)dlsym(libc, "ppoll") : NULL;
}

int sl_sys_ppoll_cancel(struct pollfd *fds, unsigned nfds, const struct timespec *timeout,
			const sigset_t *sigmask)
{
	static sl_ppoll_fn real;
	sl_ppoll_fn fn = sl_load(&real);
	struct timespec left;
	int saved = errno;
	int ret;

	if (sl_unlikely(!fn)) {
		fn = find_ppoll();
		sl_store(&real, fn);
	}
	if (sl_unlikely(!fn)) { /* another C library: not a cancellation point there */
		if (timeout)
			left = *timeout;
		return sl_sysi(SYS_ppoll, fds, nfds, timeout ? &left : NULL, sigmask, 8);
	}
	ret = fn(fds, nfds, timeout, sigmask);
	if (ret < 0)
		ret = -errno;
	errno = saved;
	return ret;
}
