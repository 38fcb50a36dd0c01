/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on descriptors: close, duplicate, replace, control, and make a stream of one. */
#include "real.h"

#include <linux/sockios.h>
#include <sched.h>
#include <sys/syscall.h>

/* True: the library opened the descriptor for itself. Programs that become daemons close numbers
 * that they never opened; these stay open, and the program gets the answer that it would get
 * without the library. */
static bool is_private(int fd)
{
	return lib_is_there() && lib.is_private(fd);
}

/* These numbers are closed, or will mean other files. */
static void forget(unsigned first, unsigned last)
{
	sl_given_forget(first, last);
	sl_uring_forget(first, last);
}

/* (A child of vfork(2) needs the library's descriptors, too, until its execve(2): exec.c.) */
int close(int fd)
{
	pthread_testcancel();               /* a thread that is cancelled has closed nothing */
	forget((unsigned)fd, (unsigned)fd); /* (so ours() does not tell the library of it) */
	if (ours(fd))
		return (int)done(lib.close(fd));
	if (is_private(fd))
		return (int)done(-EBADF);
	return REAL(close)(fd);
}

SL_SYS(close)
{
	int fd = (int)a;

	SL_SYS_UNUSED;
	forget((unsigned)fd, (unsigned)fd);
	if (ours(fd))
		return done(lib.close(fd));
	return is_private(fd) ? done(-EBADF) : sl_raw(SYS_close, fd);
}

/* Closes the range except for the library's own descriptors. */
static int close_around(unsigned first, unsigned last, int flags)
{
	unsigned hole;
	int r = 0;

	while (r == 0 && (hole = lib.next_private(first)) <= last) {
		if (hole > first)
			r = REAL(close_range)(first, hole - 1, flags);
		if (hole == last)
			return r;
		first = hole + 1;
	}
	return r ? r : REAL(close_range)(first, last, flags);
}

int close_range(unsigned first, unsigned last, int flags)
{
	bool begun;
	int r;

	if (!(flags & CLOSE_RANGE_CLOEXEC) && first <= last)
		forget(first, last);
	if (first > last || !lib_is_there() || flags == CLOSE_RANGE_CLOEXEC)
		return REAL(close_range)(first, last, flags);
	if (flags & CLOSE_RANGE_CLOEXEC) {
		begun = sl_unshare_begin(CLONE_FILES);
		r = REAL(close_range)(first, last, flags);
		sl_unshare_end(begun);
		return r;
	}
	if (!sl_in_vfork)
		lib.close_range(first, last);
	begun = flags & CLOSE_RANGE_UNSHARE && sl_unshare_begin(CLONE_FILES);
	r = close_around(first, last, flags);
	sl_unshare_end(begun);
	return r;
}

void closefrom(int first)
{
	int saved = errno;
	long max;

	if (first < 0)
		first = 0;
	if (close_range(first, ~0u, 0)) {
		max = sysconf(_SC_OPEN_MAX);
		for (int fd = first; fd < max; fd++)
			close(fd);
	}
	errno = saved;
}

static bool is_listener(int fd)
{
	socklen_t len = sizeof(int);
	int on = 0;

	return lib.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 && on;
}

/* The number `made` means the file of fd now. As 0, 1 or 2 a socket may become a stream of stdio,
 * which reads, writes and closes inside the C library, past any wrapper. So it is handed back, and
 * the library then forgets that number; it must know it before, since by the daemon the connection
 * gets a new file, on all numbers that it knows. A listener has nothing to read or write. */
static void doubled(int fd, int made)
{
	int saved = errno;

	lib.dup_done(fd, made);
	if (made <= STDERR_FILENO && !is_listener(fd) && !lib.hand_back(fd))
		lib.replace(made);
	errno = saved;
}

int dup(int fd)
{
	bool was = ours(fd);
	int r = REAL(dup)(fd);

	if (was && r >= 0)
		doubled(fd, r);
	return r;
}

/* Before dup2 or dup3 to a number that is ours: the number will mean another file. */
static void forget_socket(int fd, int fd2)
{
	int saved = errno;

	if (fd != fd2)
		forget((unsigned)fd2, (unsigned)fd2);
	if (fd != fd2 && ours(fd2) && REAL(fcntl)(fd, F_GETFD, 0) >= 0)
		lib.replace(fd2);
	errno = saved;
}

int dup2(int fd, int fd2)
{
	bool was = ours(fd);
	int r;

	if (is_private(fd2) && !sl_in_vfork)
		return (int)done(-EBUSY);
	forget_socket(fd, fd2);
	r = REAL(dup2)(fd, fd2);
	if (was && r >= 0 && fd != fd2)
		doubled(fd, r);
	return r;
}

int dup3(int fd, int fd2, int flags)
{
	bool was = ours(fd);
	int r;

	if (is_private(fd2) && !sl_in_vfork)
		return (int)done(-EBUSY);
	if (!(flags & ~O_CLOEXEC))
		forget_socket(fd, fd2);
	r = REAL(dup3)(fd, fd2, flags);
	if (was && r >= 0)
		doubled(fd, r);
	return r;
}

/* The argument of every command fits a long; glibc takes it as one, too. */
int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;
	int r;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	if (cmd == F_SETLKW || cmd == F_OFD_SETLKW)
		ours_point(fd);
	if (!ours(fd) || cmd == F_GETOWN) /* (the number of a group is negative, like an error) */
		return REAL(fcntl)(fd, cmd, arg);
	if (cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC)
		return (int)done(lib.fcntl(fd, cmd, arg));
	r = REAL(fcntl)(fd, cmd, arg);
	if (r >= 0)
		doubled(fd, r);
	return r;
}

int fcntl64(int fd, int cmd, ...) __attribute__((alias("fcntl")));

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!ours(fd)) {
		if (!sl_pass_by_ioctl(fd, request, arg))
			return (int)done(-EBUSY);
		return REAL(ioctl)(fd, request, arg);
	}
	return (int)done(lib.ioctl(fd, request, arg));
}

/* The C library's own would ask the kernel, past ioctl(). */
int sockatmark(int fd)
{
	int is_at;

	return ioctl(fd, SIOCATMARK, &is_at) < 0 ? -1 : is_at;
}

int __close(int fd) __attribute__((alias("close")));
int __dup2(int fd, int fd2) __THROW __attribute__((alias("dup2")));
int __fcntl(int fd, int cmd, ...) __attribute__((alias("fcntl")));
