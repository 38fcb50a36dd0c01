/* SPDX-License-Identifier: BSD-2-Clause */
/* Sluice: the socket calls over the bypass. Each call has the arguments of its namesake of the C
 * library and works on any descriptor: what is not offloaded goes to the kernel. Results are 0, a
 * count or a descriptor, and -errno on failure; errno itself is never touched. The preload
 * library is a thin layer on top of this header. All calls are thread-safe. */
#ifndef SLUICE_H
#define SLUICE_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mmsghdr; /* <sys/socket.h> has it with _GNU_SOURCE only */

#define SLUICE_VERSION "0.1.0"

#pragma GCC visibility push(default)

/* True when the descriptor is a socket or epoll set that Sluice looks after; everything else may
 * go straight to the kernel. One array look-up. */
bool sl_is_ours(int fd);

/* Sockets */
int sl_socket(int domain, int type, int protocol);
int sl_bind(int fd, const struct sockaddr *addr, socklen_t len);
int sl_connect(int fd, const struct sockaddr *addr, socklen_t len);
int sl_shutdown(int fd, int how);
int sl_close(int fd);
int sl_getsockname(int fd, struct sockaddr *addr, socklen_t *len);
int sl_getpeername(int fd, struct sockaddr *addr, socklen_t *len);
int sl_getsockopt(int fd, int level, int name, void *val, socklen_t *len);
int sl_setsockopt(int fd, int level, int name, const void *val, socklen_t len);
int sl_ioctl(int fd, unsigned long request, void *arg);
int sl_fcntl(int fd, int cmd, long arg);

/* Descriptors: what a new or replaced number means. Call after the kernel's dup (newfd is what
 * the kernel returned) and before its dup2 over a number of ours. */
void sl_dup_done(int oldfd, int newfd);
void sl_replace(int fd);
/* Closes what is ours among first..last; the caller closes the rest with the kernel's call, but for
 * the library's own. */
void sl_close_range(unsigned first, unsigned last);
/* Descriptors that the library made for itself, which the program does not know: to it they are
 * closed, and whoever closes or replaces numbers for it must leave them alone. */
bool sl_is_private(int fd);
/* The lowest of them from first on; UINT32_MAX: there is none. */
unsigned sl_next_private(unsigned first);

/* Receive */
ssize_t sl_recv(int fd, void *buf, size_t len, int flags);
ssize_t sl_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		    socklen_t *addrlen);
ssize_t sl_recvmsg(int fd, struct msghdr *msg, int flags);
int sl_recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout);
ssize_t sl_readv(int fd, const struct iovec *iov, int n);

/* Send */
ssize_t sl_send(int fd, const void *buf, size_t len, int flags);
ssize_t sl_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		  socklen_t addrlen);
ssize_t sl_sendmsg(int fd, const struct msghdr *msg, int flags);
int sl_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags);
ssize_t sl_writev(int fd, const struct iovec *iov, int n);

/* Multiplexing */
int sl_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *sigmask);
int sl_select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timespec *timeout,
	      const sigset_t *sigmask);
int sl_epoll_create(int flags);
int sl_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev);
int sl_epoll_wait(int epfd, struct epoll_event *evs, int max, const struct timespec *timeout,
		  const sigset_t *sigmask);

/* Gives the socket back to the kernel for good: it goes on there on the same descriptor. Used by
 * whoever needs a plain kernel socket (SCM_RIGHTS, io_uring, splice). 0 also if it is one already.
 * -EBADF: not a descriptor of ours. */
int sl_hand_back(int fd);

/* To be called by a signal handler, or before one runs, on its thread: calls that poll end with
 * EINTR then as sleeping ones do. restart: it was installed with SA_RESTART. */
void sl_signal_seen(bool restart);

/* After fork, in the child (pthread_atfork does it in preloaded programs). */
void sl_fork_child(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
