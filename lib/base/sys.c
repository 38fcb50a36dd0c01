/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw system calls, and the one wait that is a cancellation point. */
#include "base/sys.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/held.h"

__thread uint32_t sl_held __attribute__((tls_model("initial-exec")));
__thread struct timespec *sl_held_sleep __attribute__((tls_model("initial-exec")));

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

/* The sets of pselect6(2), for descriptors up to top. */
struct sets {
	unsigned long *bits; /* readable, writable, exceptions; NULL: no memory */
	size_t words;        /* of each */
};

static void sets_free(struct sets *s)
{
	if (s->bits)
		sl_sys(SYS_munmap, s->bits, 3 * s->words * sizeof(long));
}

static bool sets_bit(const struct sets *s, int which, int fd, bool set)
{
	unsigned long *w = s->bits + (size_t)which * s->words + (unsigned)fd / 64;
	unsigned long bit = 1ul << ((unsigned)fd % 64);

	*w |= set ? bit : 0;
	return *w & bit;
}

static const short set_events[3] = {
	POLLIN | POLLRDNORM | POLLRDHUP,
	POLLOUT | POLLWRNORM,
	POLLPRI,
};

/* Fills in revents; how many have some. err: pselect6's result, -EBADF: some descriptor is closed.
 */
static long events_of(const struct sets *s, struct pollfd *fds, unsigned nfds, long err)
{
	long n = 0;

	for (unsigned i = 0; i < nfds; i++) {
		struct pollfd *p = &fds[i];

		p->revents = 0;
		for (int w = 0; w < 3 && p->fd >= 0 && err > 0; w++)
			if (sets_bit(s, w, p->fd, false))
				p->revents |= (short)(set_events[w] & p->events);
		if (p->fd >= 0 && err == -EBADF && sl_sys_fcntl(p->fd, F_GETFD, 0) < 0)
			p->revents = POLLNVAL;
		n += p->revents != 0;
	}
	return n;
}

/* ppoll(2) for a process that may have fewer descriptors than are listed here (RLIMIT_NOFILE,
 * lowered by a program that confines itself): pselect6(2) has no such limit. Errors and hang-ups
 * come as readable. */
static SL_COLD long poll_by_select(struct pollfd *fds, unsigned nfds, struct timespec *left,
				   const sigset_t *sigmask, bool cancel)
{
	struct sets s __attribute__((cleanup(sets_free))) = {NULL, 0};
	const struct {
		const sigset_t *mask;
		size_t bytes;
	} mask = {sigmask, 8};
	unsigned long *rd, *wr, *ex;
	int top = -1;
	long r;

	for (unsigned i = 0; i < nfds; i++)
		top = sl_max(top, fds[i].fd);
	s.words = (size_t)(top / 64 + 1);
	s.bits = sl_sys_pages(3 * s.words * sizeof(long), 0);
	if (!s.bits)
		return -ENOMEM;
	for (unsigned i = 0; i < nfds; i++)
		for (int w = 0; w < 3; w++)
			if (fds[i].fd >= 0 && fds[i].events & set_events[w])
				sets_bit(&s, w, fds[i].fd, true);
	rd = s.bits;
	wr = rd + s.words;
	ex = wr + s.words;
	r = cancel ? sl_sys_cancel(SYS_pselect6, top + 1, rd, wr, ex, left, &mask)
		   : sl_sys(SYS_pselect6, top + 1, rd, wr, ex, left, &mask);
	return r > 0 || r == -EBADF ? events_of(&s, fds, nfds, r) : r;
}

int sl_sys_ppoll(struct pollfd *fds, unsigned nfds, struct timespec *left)
{
	long r = sl_sys(SYS_ppoll, fds, nfds, left, NULL, 8);

	return (int)(sl_unlikely(r == -EINVAL) ? poll_by_select(fds, nfds, left, NULL, false) : r);
}

#define FOREVER_S 1000000000 /* thirty years */

int sl_sys_ppoll_cancel(struct pollfd *fds, unsigned nfds, const struct timespec *timeout,
			const sigset_t *sigmask)
{
	struct timespec ts, *left = timeout ? &ts : NULL; /* the kernel writes what is left there */
	long r;

	if (timeout)
		ts = *timeout;
	if (sl_held) {
		left = left ? left : &ts;
		ts = timeout ? ts : (struct timespec){.tv_sec = FOREVER_S};
		sl_held_sleep = left;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (sl_held & SL_HELD_SIGNALS)
			ts = (struct timespec){0, 0};
	}
	r = sl_sys_cancel(SYS_ppoll, fds, nfds, left, sigmask, 8);
	if (sl_unlikely(r == -EINVAL))
		r = poll_by_select(fds, nfds, left, sigmask, true);
	sl_held_sleep = NULL;
	return (int)r;
}

int sl_sys_ethtool(int fd, const char *ifname, void *cmd)
{
	struct ifreq ifr = {.ifr_data = cmd};
	int r;

	memcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	r = sl_sys_ioctl(fd, SIOCETHTOOL, &ifr);
	return sl_min(r, 0);
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

	if (sl_sys_mmap(&p, NULL, bytes, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0))
		return NULL;
	sl_sys(SYS_madvise, p, bytes, MADV_DONTDUMP); /* (tells it from the program's memory) */
	return p;
}
