/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulated NIC's own system calls, by number: the library under test interposes the C
 * library's socket calls, and this object interposes others. They return as the C library's. */
#ifndef SIM_SYS_H
#define SIM_SYS_H

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int sim_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, (long)domain, (long)type, (long)protocol);
}
static inline int sim_socketpair(int domain, int type, int protocol, int fds[2])
{
	return (int)syscall(SYS_socketpair, (long)domain, (long)type, (long)protocol, fds);
}
static inline int sim_bind(int fd, const void *addr, size_t len)
{
	return (int)syscall(SYS_bind, (long)fd, addr, len);
}
static inline int sim_listen(int fd, int backlog)
{
	return (int)syscall(SYS_listen, (long)fd, (long)backlog);
}
/* Never waits, and asks first whether a peer is there: accept(2) takes a descriptor's number
 * before it finds that nobody waits, and the program counts on the lowest one. */
static inline int sim_accept(int fd, int flags)
{
	struct pollfd waits = {.fd = fd, .events = POLLIN};

	if (syscall(SYS_poll, &waits, 1L, 0L) <= 0)
		return -1;
	return (int)syscall(SYS_accept4, (long)fd, NULL, NULL, (long)flags);
}
static inline int sim_setsockopt(int fd, int level, int name, int value)
{
	return (int)syscall(SYS_setsockopt, (long)fd, (long)level, (long)name, &value,
			    sizeof(value));
}
/* Never waits, and no signal when the other side is gone. */
static inline ssize_t sim_send(int fd, const void *buf, size_t n)
{
	return syscall(SYS_sendto, (long)fd, buf, n, (long)(MSG_DONTWAIT | MSG_NOSIGNAL), NULL, 0L);
}
static inline ssize_t sim_recv(int fd, void *buf, size_t n)
{
	return syscall(SYS_recvfrom, (long)fd, buf, n, (long)MSG_DONTWAIT, NULL, NULL);
}
static inline int sim_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, (long)fd, request, arg);
}
static inline int sim_open(const char *path, int flags, int mode)
{
	return (int)syscall(SYS_openat, (long)AT_FDCWD, path, (long)flags, (long)mode);
}
static inline ssize_t sim_write(int fd, const void *buf, size_t n)
{
	return syscall(SYS_write, (long)fd, buf, n);
}
static inline int sim_close(int fd)
{
	return (int)syscall(SYS_close, (long)fd);
}
static inline void *sim_mmap(void *at, size_t len, int prot, int flags, int fd, uint64_t off)
{
	return (void *)syscall(SYS_mmap, at, len, (long)prot, (long)flags, (long)fd, off);
}
/* The number of an open file, which all its descriptors have in common. 0: there is none. */
static inline uint64_t sim_inode(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, (long)fd, &st) ? 0 : st.st_ino;
}
static inline int sim_getpid(void)
{
	return (int)syscall(SYS_getpid);
}

#endif
