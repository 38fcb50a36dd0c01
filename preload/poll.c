/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for many: select, poll and epoll in all their forms. */
#include "real.h"

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

int select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv)
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

/* Unlike select(2), the C library's pselect does not change the caller's timeout (pselect(2)). */
int pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex, const struct timespec *timeout,
	    const sigset_t *sigmask)
{
	struct timespec ts;

	if (!any_ours_sets(n, rd, wr, ex))
		return REAL(pselect)(n, rd, wr, ex, timeout, sigmask);
	if (timeout)
		ts = *timeout;
	return (int)done(lib.select(n, rd, wr, ex, timeout ? &ts : NULL, sigmask));
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
	return (int)done(lib.epoll_wait(epfd, evs, max, timeout, sigmask));
}
