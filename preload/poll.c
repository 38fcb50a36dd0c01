/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for many: select, poll and epoll in all their forms. */
#include "real.h"

#include <fcntl.h>
#include <sys/syscall.h>

/* The C library's header calls the list of poll(2) write-only; it is read, too. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

static bool any_ours(const struct pollfd *fds, nfds_t n)
{
	if (!lib_is_there() && !sl_load(&sl_given_left))
		return false;
	if (lib_is_there() && !lib.is_memory(fds, n * sizeof(*fds)))
		return false; /* the kernel reports it */
	for (nfds_t i = 0; i < n; i++)
		if (ours(fds[i].fd))
			return true;
	return false;
}

/* The program's table of descriptors
 * ---------------------------------------------------------------
 *
 * The kernel looks at no bits of select(2) behind the end of its table, which is as large as the
 * highest descriptor needs; programs pass getdtablesize() with sets of 1,024 bits, or FD_SETSIZE
 * with bits that they never cleared. The library's own descriptors enlarge the table, so the sets
 * are cut here to what the program's need: 1,024 bits and less when one of them has proved bad. */

#define FIRST_TABLE 64 /* NR_OPEN_DEFAULT */

struct dirent_head { /* struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static int number_of(const char *name)
{
	int n = 0;

	if (*name < '0' || *name > '9')
		return -1;
	for (; *name; name++)
		n = n * 10 + *name - '0';
	return n;
}

/* The highest descriptor of the program; -1: that cannot be found out. Takes no memory: select(2)
 * is async-signal-safe. */
static int highest(void)
{
	int dir = (int)sl_raw(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/fd",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t buf[128];
	int most = -1;
	long n;

	if (dir < 0)
		return -1;
	while ((n = sl_raw(SYS_getdents64, dir, (long)buf, sizeof(buf))) > 0)
		for (long at = 0; at < n;) {
			const struct dirent_head *d = (const void *)((char *)buf + at);
			int fd = number_of(d->name);

			if (fd > most && fd != dir && !lib.is_private(fd))
				most = fd;
			at += d->bytes;
		}
	sl_raw(SYS_close, dir);
	return most;
}

/* n of select(2) as the kernel would cut it without us (expand_fdtable()): to 64 bits, or to some
 * power of two above. */
static int cut(int n)
{
	static int size = FIRST_TABLE; /* a table never shrinks */
	int saved = errno, most = highest();

	errno = saved;
	if (most < 0)
		return n;
	while (sl_load(&size) <= most)
		sl_store(&size, sl_load(&size) * 2);
	return n < sl_load(&size) ? n : sl_load(&size);
}

static int cut_to_table(int n)
{
	return n <= FD_SETSIZE || !lib_is_there() ? n : cut(n);
}

/* True: the call has ended with r since one of its bits is a closed descriptor's, and the kernel
 * would not have looked at that bit. It is made again with *n bits. */
static bool is_beyond_table(long r, int *n)
{
	int was = *n;

	if (r >= 0 || errno != EBADF || was <= FIRST_TABLE || !lib_is_there())
		return false;
	*n = cut(was);
	return *n < was;
}

static bool any_ours_set(int n, const fd_set *set)
{
	if (!set || (!lib_is_there() && !sl_load(&sl_given_left)))
		return false;
	if (lib_is_there() && !lib.is_memory(set, sizeof(set->fds_bits[0])))
		return false; /* the kernel reports it */
	for (int base = 0; base < n; base += __NFDBITS) {
		unsigned long word = (unsigned long)set->fds_bits[base / __NFDBITS];

		for (; word; word &= word - 1)
			if (ours(base + __builtin_ctzl(word)))
				return true;
	}
	return false;
}

static bool any_ours_sets(int n, const fd_set *rd, const fd_set *wr, const fd_set *ex)
{
	return any_ours_set(n, rd) || any_ours_set(n, wr) || any_ours_set(n, ex);
}

/* Converts a time-out in milliseconds, below 0 for none, to the form of the sl_ calls. */
static const struct timespec *from_ms(int ms, struct timespec *ts)
{
	if (ms < 0)
		return NULL;
	ts->tv_sec = ms / 1000;
	ts->tv_nsec = ms % 1000 * 1000000L;
	return ts;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts;

	if (!any_ours(fds, n))
		return REAL(poll)(fds, n, ms);
	return (int)done(lib.poll(fds, n, from_ms(ms, &ts), NULL));
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *sigmask)
{
	if (!any_ours(fds, n))
		return REAL(ppoll)(fds, n, timeout, sigmask);
	return (int)done(lib.poll(fds, n, timeout, sigmask));
}

int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return poll(fds, n, ms);
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		const sigset_t *sigmask, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return ppoll(fds, n, timeout, sigmask);
}

static int select_cut(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv)
{
	struct timespec ts;
	int r;

	if (!any_ours_sets(n, rd, wr, ex))
		return REAL(select)(n, rd, wr, ex, tv);
	if (!tv)
		return (int)done(lib.select(n, rd, wr, ex, NULL, NULL));
	if (tv->tv_sec < 0 || tv->tv_usec < 0)
		return (int)done(-EINVAL);
	ts.tv_sec = tv->tv_sec + tv->tv_usec / 1000000;
	ts.tv_nsec = tv->tv_usec % 1000000 * 1000;
	r = (int)done(lib.select(n, rd, wr, ex, &ts, NULL));
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return r;
}

int select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv)
{
	int r;

	n = cut_to_table(n);
	do
		r = select_cut(n, rd, wr, ex, tv);
	while (is_beyond_table(r, &n));
	return r;
}

/* Unlike select(2), the C library's pselect does not change the caller's timeout (pselect(2)). */
static int pselect_cut(int n, fd_set *rd, fd_set *wr, fd_set *ex, const struct timespec *timeout,
		       const sigset_t *sigmask)
{
	struct timespec ts;

	if (!any_ours_sets(n, rd, wr, ex))
		return REAL(pselect)(n, rd, wr, ex, timeout, sigmask);
	if (timeout)
		ts = *timeout;
	return (int)done(lib.select(n, rd, wr, ex, timeout ? &ts : NULL, sigmask));
}

int pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex, const struct timespec *timeout,
	    const sigset_t *sigmask)
{
	int r;

	n = cut_to_table(n);
	do
		r = pselect_cut(n, rd, wr, ex, timeout, sigmask);
	while (is_beyond_table(r, &n));
	return r;
}

int epoll_create(int size)
{
	if (size <= 0 || sl_in_vfork || !sl_lib_load())
		return REAL(epoll_create)(size);
	return (int)done(lib.epoll_create(0));
}

int epoll_create1(int flags)
{
	if (sl_in_vfork || !sl_lib_load())
		return REAL(epoll_create1)(flags);
	return (int)done(lib.epoll_create(flags));
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	if (!ours(epfd) && !ours(fd))
		return REAL(epoll_ctl)(epfd, op, fd, ev);
	return (int)done(lib.epoll_ctl(epfd, op, fd, ev));
}

int epoll_wait(int epfd, struct epoll_event *evs, int max, int ms)
{
	struct timespec ts;

	if (!ours(epfd))
		return REAL(epoll_wait)(epfd, evs, max, ms);
	return (int)done(lib.epoll_wait(epfd, evs, max, from_ms(ms, &ts), NULL));
}

int epoll_pwait(int epfd, struct epoll_event *evs, int max, int ms, const sigset_t *sigmask)
{
	struct timespec ts;

	if (!ours(epfd))
		return REAL(epoll_pwait)(epfd, evs, max, ms, sigmask);
	return (int)done(lib.epoll_wait(epfd, evs, max, from_ms(ms, &ts), sigmask));
}

int epoll_pwait2(int epfd, struct epoll_event *evs, int max, const struct timespec *timeout,
		 const sigset_t *sigmask)
{
	if (!ours(epfd))
		return REAL(epoll_pwait2)(epfd, evs, max, timeout, sigmask);
	if (timeout && !lib.is_memory(timeout, sizeof(*timeout)))
		return (int)done(-EFAULT);
	return (int)done(lib.epoll_wait(epfd, evs, max, timeout, sigmask));
}

int __poll(struct pollfd *fds, nfds_t n, int ms) __attribute__((alias("poll")));
int __select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv)
	__attribute__((alias("select")));

/* By syscall(2) -------------------------------------------------------------------------------
 *
 * Unlike the C library, the kernel writes back what is left of a time-out, if it can. */

#define KERNEL_SIGSET 8 /* bytes of the kernel's signal mask */

SL_SYS(poll)
{
	struct pollfd *fds = (struct pollfd *)a;
	nfds_t n = (unsigned)b;
	struct timespec ts;

	SL_SYS_UNUSED;
	if (!any_ours(fds, n))
		return sl_raw(SYS_poll, a, b, c);
	return done(lib.poll(fds, n, from_ms((int)c, &ts), NULL));
}

static long long clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void take_off(struct timespec *ts, long long ns)
{
	ts->tv_sec -= ns / 1000000000;
	ts->tv_nsec -= ns % 1000000000;
	if (ts->tv_nsec < 0) {
		ts->tv_nsec += 1000000000;
		ts->tv_sec--;
	}
	if (ts->tv_sec < 0)
		*ts = (struct timespec){0, 0};
}

SL_SYS(ppoll)
{
	struct pollfd *fds = (struct pollfd *)a;
	struct timespec *t = (struct timespec *)c, left;
	nfds_t n = (unsigned)b;
	long long begin;
	int r;

	SL_SYS_UNUSED;
	if (!any_ours(fds, n))
		return sl_raw(SYS_ppoll, a, b, c, d, e);
	if (d && e != KERNEL_SIGSET)
		return done(-EINVAL);
	if (!t)
		return done(lib.poll(fds, n, NULL, (const sigset_t *)d));
	begin = clock_ns();
	if (!sl_get(&left, t, sizeof(left)))
		return done(-EFAULT);
	r = lib.poll(fds, n, &left, (const sigset_t *)d);
	if (r == -EINVAL || r == -EFAULT)
		return done(r);
	take_off(&left, clock_ns() - begin);
	lib.put(t, &left, sizeof(left));
	return done(r);
}

SL_SYS(select)
{
	struct timeval left;
	int r;

	SL_SYS_UNUSED;
	a = cut_to_table((int)a);
	if (!any_ours_sets((int)a, (const fd_set *)b, (const fd_set *)c, (const fd_set *)d))
		return sl_raw(SYS_select, a, b, c, d, e);
	if (e && !sl_get(&left, (const void *)e, sizeof(left)))
		return done(-EFAULT);
	r = select((int)a, (fd_set *)b, (fd_set *)c, (fd_set *)d, e ? &left : NULL);
	if (e)
		lib.put((void *)e, &left, sizeof(left));
	return r;
}

SL_SYS(pselect6)
{
	const struct {
		const sigset_t *set;
		size_t bytes;
	} *mask = (const void *)f;
	struct timespec left;
	int r;

	a = cut_to_table((int)a);
	if (!any_ours_sets((int)a, (const fd_set *)b, (const fd_set *)c, (const fd_set *)d))
		return sl_raw(SYS_pselect6, a, b, c, d, e, f);
	if (mask && !lib.is_memory(mask, sizeof(*mask)))
		return done(-EFAULT);
	if (mask && mask->set && mask->bytes != KERNEL_SIGSET)
		return done(-EINVAL);
	if (e && !sl_get(&left, (const void *)e, sizeof(left)))
		return done(-EFAULT);
	r = lib.select((int)a, (fd_set *)b, (fd_set *)c, (fd_set *)d, e ? &left : NULL,
		       mask ? mask->set : NULL);
	if (e)
		lib.put((void *)e, &left, sizeof(left));
	return done(r);
}

SL_SYS(epoll_ctl)
{
	SL_SYS_UNUSED;
	if (!ours((int)a) && !ours((int)c))
		return sl_raw(SYS_epoll_ctl, a, b, c, d);
	return done(lib.epoll_ctl((int)a, (int)b, (int)c, (struct epoll_event *)d));
}

SL_SYS(epoll_pwait)
{
	struct timespec ts;

	if (!ours((int)a))
		return sl_raw(SYS_epoll_pwait, a, b, c, d, e, f);
	if (e && f != KERNEL_SIGSET)
		return done(-EINVAL);
	return done(lib.epoll_wait((int)a, (struct epoll_event *)b, (int)c, from_ms((int)d, &ts),
				   (const sigset_t *)e));
}

SL_SYS(epoll_pwait2)
{
	if (!ours((int)a))
		return sl_raw(SYS_epoll_pwait2, a, b, c, d, e, f);
	if (e && f != KERNEL_SIGSET)
		return done(-EINVAL);
	if (d && !lib.is_memory((const void *)d, sizeof(struct timespec)))
		return done(-EFAULT);
	return done(lib.epoll_wait((int)a, (struct epoll_event *)b, (int)c,
				   (const struct timespec *)d, (const sigset_t *)e));
}
