/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets that the program did not make: inherited over execve(2), or received by SCM_RIGHTS or
 * pidfd_getfd(2).
 *
 * Theory of operation: inherited descriptors are looked at once, when the program starts: most
 * programs have three and no socket among them. Sockets over IP are remembered by number, and the
 * library is loaded at the first call with one of them: many programs inherit sockets that they
 * never use. */
#include "bare.h"
#include "real.h"

#include <dirent.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MAX_FDS 65536

unsigned sl_given_left;
static uint64_t given[MAX_FDS / 64];

static bool is_given(int fd)
{
	return (unsigned)fd < MAX_FDS && sl_load(&given[fd / 64]) >> (fd % 64) & 1;
}

static bool forget_given(unsigned fd)
{
	uint64_t bit = 1ull << fd % 64;

	if (!(__atomic_fetch_and(&given[fd / 64], ~bit, __ATOMIC_RELAXED) & bit))
		return false;
	__atomic_fetch_sub(&sl_given_left, 1, __ATOMIC_RELAXED);
	return true;
}

void sl_given_forget(unsigned first, unsigned last)
{
	if (sl_likely(!sl_load(&sl_given_left)) || sl_in_vfork)
		return;
	for (unsigned fd = first; fd <= last && fd < MAX_FDS; fd++)
		forget_given(fd);
}

/* True: a stream or datagram socket over IP. Raw system calls: a wrapper would call back here. */
static bool is_inet(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	if (sl_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
	    sl_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len))
		return false;
	return (domain == AF_INET || domain == AF_INET6) &&
	       (type == SOCK_STREAM || type == SOCK_DGRAM);
}

static void tell_given(int fd)
{
	if (!sl_lib_load())
		return;
	sl_bare_look();
	if (sl_leave_tell())
		(void)lib.given(fd);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Tells the library of this descriptor and of all others of the same socket: a descriptor that the
 * library does not know would count as another process's. */
void sl_given_use(int fd)
{
	int saved = errno;
	ino_t inode;

	if (!is_given(fd) || sl_in_vfork || !forget_given((unsigned)fd))
		return;
	inode = inode_of(fd);
	tell_given(fd);
	for (int other = 0; other < MAX_FDS && sl_load(&sl_given_left); other++)
		if (is_given(other) && inode_of(other) == inode && forget_given((unsigned)other))
			tell_given(other);
	errno = saved;
}

void sl_given_received(const struct msghdr *msg)
{
	struct msghdr *m = sl_unconst(msg);
	int saved = errno;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c && !sl_in_vfork; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (is_inet(fd))
				tell_given(fd);
		}
	}
	errno = saved;
}

__attribute__((visibility("default"))) int pidfd_getfd(int pidfd, int number, unsigned flags)
{
	int fd, saved = errno;

	if (!sl_in_vfork && sl_lib_load() && sl_leave_tell())
		lib.steal(pidfd, number);
	errno = saved;
	fd = REAL(pidfd_getfd)(pidfd, number, flags);
	saved = errno;
	if (fd >= 0 && !sl_in_vfork && is_inet(fd))
		tell_given(fd);
	errno = saved;
	return fd;
}

static void remember_given(int fd)
{
	if ((unsigned)fd >= MAX_FDS || !is_inet(fd))
		return;
	given[fd / 64] |= 1ull << fd % 64;
	sl_given_left++;
}

static bool is_listener(int fd)
{
	socklen_t len = sizeof(int);
	int on = 0;

	return sl_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 && on;
}

/* A service of inetd(8) has its connection as 0, 1 and 2, and may use it by stdio: it stays with
 * the kernel (stdio.c), by whatever number. */
static void leave_to_stdio(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		ino_t inode = is_given(fd) && !is_listener(fd) ? inode_of(fd) : 0;

		for (int other = 0; inode && other < MAX_FDS && sl_given_left; other++)
			if (is_given(other) && inode_of(other) == inode)
				forget_given((unsigned)other);
	}
}

__attribute__((constructor)) static void look(void)
{
	_Alignas(8) char buf[1024];
	int saved = errno;
	long n, dir = sl_raw(SYS_openat, AT_FDCWD, "/proc/self/fd",
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	while (dir >= 0 && (n = sl_raw(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			struct dirent64 *d = (struct dirent64 *)(buf + at);

			if (d->d_name[0] != '.')
				remember_given(atoi(d->d_name));
			at += d->d_reclen;
		}
	}
	if (dir >= 0)
		sl_raw(SYS_close, dir);
	leave_to_stdio();
	errno = saved;
}
