/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of our own, by number: never through the symbols that the preload library
 * interposes. All return -errno; only those with `cancel` in the name are
 * cancellation points. */
#ifndef SL_SYS_H
#define SL_SYS_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/fds.h"

/* The raw system call: the result or -errno; errno itself is left alone. */
long sl_syscall6(long nr, long a, long b, long c, long d, long e, long f);
#define sl_sys_(nr, a, b, c, d, e, f, ...)                                                         \
	sl_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sl_sys(...) sl_sys_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* sl_sys() as an int, which the caller may ignore. */
#define sl_sysi(...)                                                                               \
	({                                                                                         \
		int ret_ = (int)sl_sys(__VA_ARGS__);                                               \
		ret_;                                                                              \
	})

#define sl_sys_socket(d, t, p)              sl_sysi(SYS_socket, d, t, p)
#define sl_sys_bind(fd, a, l)               sl_sysi(SYS_bind, fd, a, l)
#define sl_sys_connect(fd, a, l)            sl_sysi(SYS_connect, fd, a, l)
#define sl_sys_getsockname(fd, a, l)        sl_sysi(SYS_getsockname, fd, a, l)
#define sl_sys_getpeername(fd, a, l)        sl_sysi(SYS_getpeername, fd, a, l)
#define sl_sys_setsockopt(fd, lv, o, v, l)  sl_sysi(SYS_setsockopt, fd, lv, o, v, l)
#define sl_sys_getsockopt(fd, lv, o, v, l)  sl_sysi(SYS_getsockopt, fd, lv, o, v, l)
#define sl_sys_sendto(fd, b, n, fl, a, l)   sl_sys(SYS_sendto, fd, b, n, fl, a, l)
#define sl_sys_recvfrom(fd, b, n, fl, a, l) sl_sys(SYS_recvfrom, fd, b, n, fl, a, l)
#define sl_sys_sendmsg(fd, m, fl)           sl_sys(SYS_sendmsg, fd, m, fl)
#define sl_sys_recvmsg(fd, m, fl)           sl_sys(SYS_recvmsg, fd, m, fl)
#define sl_sys_read(fd, b, n)               sl_sys(SYS_read, fd, b, n)
#define sl_sys_write(fd, b, n)              sl_sys(SYS_write, fd, b, n)
#define sl_sys_fcntl(fd, c, a)              sl_sysi(SYS_fcntl, fd, c, a)
#define sl_sys_ioctl(fd, r, a)              sl_sysi(SYS_ioctl, fd, r, a)
#define sl_sys_epoll_create1(fl)            sl_sysi(SYS_epoll_create1, fl)
#define sl_sys_epoll_ctl(ep, op, fd, ev)    sl_sysi(SYS_epoll_ctl, ep, op, fd, ev)
#define sl_sys_epoll_wait(ep, ev, n, ms)    sl_sysi(SYS_epoll_pwait, ep, ev, n, ms, NULL, 8)
#define sl_sys_eventfd(v, fl)               sl_sysi(SYS_eventfd2, v, fl)

/* getsockopt(2) of an int. 0 or -errno, and *v stays then. */
static inline int sl_sys_get_int(int fd, int level, int opt, int *v)
{
	socklen_t len = sizeof(*v);

	return sl_sys_getsockopt(fd, level, opt, v, &len);
}

/* setsockopt(2) of an int. 0 or -errno. */
static inline int sl_sys_set_int(int fd, int level, int opt, int v)
{
	return sl_sys_setsockopt(fd, level, opt, &v, sizeof(v));
}

/* Asks or tells a device's driver by ethtool's ioctl on any socket fd; cmd: a structure of
 * linux/ethtool.h, which the kernel fills. 0 or -errno. */
int sl_sys_ethtool(int fd, const char *ifname, void *cmd);

/* mmap(2), readable and writable: 0 and where it is, or -errno. flags: all of them. */
int sl_sys_mmap(void **mem, void *at, size_t bytes, int flags, int fd, long off);
/* Zeroed memory of this process's own; not by malloc, which a signal handler may have interrupted.
 * flags: more of mmap(2)'s. NULL: there is none. */
void *sl_sys_pages(size_t bytes, int flags);

/* The number is forgotten first: another thread may get it as soon as it is free. */
static inline int sl_sys_close(int fd)
{
	if (sl_fd_is_kept(fd))
		sl_fd_forget(fd);
	return sl_sysi(SYS_close, fd);
}

/* sl_sys() as a cancellation point, for calls that may sleep; call with no lock held. */
long sl_sys_cancel6(long nr, long a, long b, long c, long d, long e, long f);
#define sl_sys_cancel_(nr, a, b, c, d, e, f, ...)                                                  \
	sl_sys_cancel6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sl_sys_cancel(...) sl_sys_cancel_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* True: this process may make a file of so many bytes. Beyond RLIMIT_FSIZE, which holds for files
 * in memory as well, trying raises a signal that ends the program. */
bool sl_file_fits(size_t bytes);
/* Keeps other processes from writing a file in memory to which they get a descriptor for reading:
 * no process, not root's either, can open it for more from now on (by /proc/self/fd) or change its
 * mode. A descriptor that was opened for writing before goes on, also in a process that it is
 * passed to: the next daemon maps the file by it, which a seal (F_SEAL_FUTURE_WRITE) would forbid.
 * Before Linux 6.0 and without CAP_LINUX_IMMUTABLE the file is merely its owner's (mode 0600), and
 * another process of the same user could open it. 0 or -errno. */
int sl_file_freeze(int fd);
/* write(2) that raises neither SIGPIPE nor SIGXFSZ: one that it caused is taken off again. */
long sl_write_quietly(int fd, const char *text, size_t len);

/* Writes all the bytes, in as many calls of write(2) as that takes. 0 or -errno; -EIO: the file
 * takes no more. */
int sl_write_all(int fd, const void *data, size_t bytes);

/* The first size - 1 bytes of a file, closed by a zero, without the newline at their end; "" when
 * it cannot be read. For files of /proc, whose text one read gives whole. Returns the length or
 * -errno. */
long sl_read_text(const char *path, char *text, size_t size);
/* sl_read_text() of a file whose path begins at the directory `dir`. */
long sl_read_text_at(int dir, const char *path, char *text, size_t size);

/* Runs fn(arg) in a thread of the kernel's with an empty table of descriptors, and waits for it:
 * a descriptor that fn makes takes no number of the program's, which a thread of the program may
 * just count on. It is closed when fn returns, so fn neither closes (sl_sys_close()) nor keeps
 * (sl_fd_keep()) nor logs. fn has the thread-local storage of the caller, its locks, its identity
 * for them, and SL_ROOMY_BYTES of stack; no signal handler runs meanwhile. Where the kernel makes
 * no such thread, and in a build with a sanitizer, fn runs in the caller's. Takes some 50 us. */
void sl_aside(void (*fn)(void *arg), void *arg);
/* sl_read_text() by sl_aside(). */
long sl_read_text_aside(const char *path, char *text, size_t size);

/* ppoll(2); also where RLIMIT_NOFILE is below nfds, which ppoll(2) refuses. left: NULL waits for
 * ever. How many have events, or -errno. */
int sl_sys_ppoll(struct pollfd *fds, unsigned nfds, struct timespec *left);
/* True: ppoll(2) has found something on one of the n descriptors. */
static inline bool sl_has_revents(const struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (fds[i].revents)
			return true;
	return false;
}
/* ppoll(2) that is a cancellation point; call with no lock held. Timeout NULL waits for ever.
 * Returns the count of ready entries, 0 on timeout, -errno (-EINTR for a signal). */
int sl_sys_ppoll_cancel(struct pollfd *fds, unsigned nfds, const struct timespec *timeout,
			const sigset_t *sigmask);

#endif
