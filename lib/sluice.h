/* SPDX-License-Identifier: BSD-2-Clause */
/* Sluice: the socket calls over the bypass.
 *
 * Each call has the arguments of the C library's function of the same name, does what its manual
 * page says, and works on any descriptor: a call on a socket that is not offloaded goes to the
 * kernel. The comments below say only what differs. The preload library is a thin layer on top.
 *
 * Results	0, a count or a descriptor; -errno on failure. errno itself is never touched. Each
 *		call fails as the C library's function does; errors named below are additions.
 * Ownership	Buffers, addresses and messages are the caller's and are not kept after the return.
 *		Descriptors are the kernel's own numbers: sl_close() closes any of them.
 * Threads	All calls may be made in any thread at any time, also on one socket. Only calls
 *		that may wait are cancellation points. The calls that receive, send, poll and
 *		close may be made in a signal handler. If it interrupted a critical section of
 *		ours, they use the kernel or return -EAGAIN.
 * Processes	A child uses inherited sockets through the kernel (but see sl_fork_child()).
 */
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

/* Which descriptors are ours ----------------------------------------------------------------- */

/* True for a socket or epoll set that Sluice looks after, offloaded or not: calls on it must be
 * made through this header. For other descriptors the kernel may be called directly. One array
 * look-up, no lock. */
bool sl_is_ours(int fd);

/* True: the library made it for itself. For the program it is closed, and must stay alone. */
bool sl_is_private(int fd);
/* The library's lowest own descriptor from first on; UINT32_MAX: there is none. */
unsigned sl_next_private(unsigned first);

/* Sockets ------------------------------------------------------------------------------------ */

/* socket(2). Sluice looks after UDP and TCP sockets of AF_INET and AF_INET6; all others are the
 * kernel's alone. The first such call starts the library (settings, mirrors, its thread). When that
 * fails, it is no error: the socket is the kernel's, and the log says why. bind, connect or the
 * first send, which give a socket its addresses, decide whether it is offloaded. */
int sl_socket(int domain, int type, int protocol);

/* bind(2), connect(2): the kernel checks the address and reserves the port number; then rules,
 * routes and devices decide (sluice.conf(5)), and an offloaded socket claims its packets. connect
 * with AF_UNSPEC removes the connection. */
int sl_bind(int fd, const struct sockaddr *addr, socklen_t len);
int sl_connect(int fd, const struct sockaddr *addr, socklen_t len);

/* listen(2), accept4(2). Connections over offloaded devices and those that the kernel takes
 * (loopback, other devices) come out of one queue, in turn when both have some. The first kind is
 * offloaded, the second is the kernel's alone. */
int sl_listen(int fd, int backlog);
int sl_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);

/* shutdown(2). Wakes threads that wait in a receive call, which then returns 0. */
int sl_shutdown(int fd, int how);

/* close(2). With its last descriptor a socket loses its claims and what is queued, and an epoll set
 * its members. A thread that waits on fd returns -EBADF (the kernel leaves it waiting). */
int sl_close(int fd);

/* getsockname(2), getpeername(2): the kernel's answer. */
int sl_getsockname(int fd, struct sockaddr *addr, socklen_t *len);
int sl_getpeername(int fd, struct sockaddr *addr, socklen_t *len);

/* getsockopt(2), setsockopt(2), of socket(7), ip(7), ipv6(7), udp(7). The kernel checks and keeps
 * every option; an option that user space cannot honour hands the socket back to the kernel. */
int sl_getsockopt(int fd, int level, int name, void *val, socklen_t *len);
/* SO_MAX_PACING_RATE takes the kernel's 32 or 64 bits (bytes a second, all ones: no limit), or this
 * (libvma's struct vma_rate_limit_t). getsockopt reads it back in the form in which it was set. The
 * rate counts the bytes of frames without their check sequence. Packets that wait for their time
 * count against SO_SNDBUF. */
struct sl_rate_limit {
	uint32_t rate;           /* kbit/s; 0: no limit */
	uint32_t max_burst_sz;   /* bytes that may leave at once; 0: the library's choice */
	uint16_t typical_pkt_sz; /* bytes, for the NIC; 0: the NIC's choice */
};
int sl_setsockopt(int fd, int level, int name, const void *val, socklen_t len);
/* The datagrams that a socket wants. sl_steer() is the option SL_SO_STEER of SOL_SOCKET, with this
 * structure as its value. */
#define SL_SO_STEER 21324
struct sl_steer {
	int32_t dscp;        /* 0 to 63; -1: any */
	uint32_t label;      /* the flow label, of IPv6, in the bits that the mask has */
	uint32_t label_mask; /* at most 0xfffff; 0: any, and IPv4 */
	int32_t vni;         /* came by a VXLAN device with this VNI; -1: by any device */
};
/* From now on the datagram socket fd receives only what fits; others on the same port get the rest
 * (SO_REUSEADDR or SO_REUSEPORT, before bind(2)). The steering program chooses, so urgent datagrams
 * come to the lane of the thread that reads this socket. It chooses the socket that asks for most
 * bits, among equal ones by the flow's hash. The kernel does not choose so: of what comes its way
 * (fragments, other devices) a socket filter drops what does not fit, in the place of a filter of
 * the program's own. vni: of devices that exist now. A member of a multicast group goes to the
 * kernel. -EINVAL: a value out of range; -EOPNOTSUPP: no datagram socket of ours; -EBUSY: the
 * program has attached a filter. */
int sl_steer(int fd, const struct sl_steer *to);

/* ioctl(2) with its one argument. FIONREAD, FIONBIO, SIOCOUTQ as udp(7) has them. */
int sl_ioctl(int fd, unsigned long request, void *arg);

/* fcntl(2) with its one argument, 0 for commands without. Handles F_DUPFD(_CLOEXEC) itself: do not
 * call sl_dup_done() after it. O_ASYNC hands the socket back. */
int sl_fcntl(int fd, int cmd, long arg);

/* Numbers ------------------------------------------------------------------------------------ */

/* Call after the kernel's dup(2), dup2(2) or dup3(2) of oldfd returned newfd: newfd then means the
 * same socket or set. Does nothing when oldfd is not ours or newfd is negative. */
void sl_dup_done(int oldfd, int newfd);

/* Call before the kernel's dup2(2) over fd, or when other code will close fd: it is not ours any
 * more. Does what sl_close() does, but leaves the kernel's descriptor open. */
void sl_replace(int fd);

/* Closes our sockets and sets among first..last. The caller closes the rest with the kernel's call,
 * except the library's own descriptors (sl_next_private()). */
void sl_close_range(unsigned first, unsigned last);

/* Receive ------------------------------------------------------------------------------------ */

/* recv(2), recvfrom(2), recvmsg(2), recvmmsg(2), readv(2). Data that came over the bypass and data
 * that the kernel has for the socket (fragments, loopback, other devices) come out of one queue;
 * when both have data they take turns. Waiting calls poll for SLUICE_RX_POLL rounds, then sleep;
 * they end with -EINTR as signal(7) says (see sl_signal_seen()). Copies once. -EBADF: fd was closed
 * meanwhile. */
ssize_t sl_recv(int fd, void *buf, size_t len, int flags);
ssize_t sl_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		    socklen_t *addrlen);
ssize_t sl_recvmsg(int fd, struct msghdr *msg, int flags);
int sl_recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout);
/* With a total length of 0 it returns 0 without waiting (like read(2); recv(2) waits). */
ssize_t sl_readv(int fd, const struct iovec *iov, int n);
/* preadv2(2): with position -1 as sl_readv(), RWF_NOWAIT being MSG_DONTWAIT; no other is possible.
 */
ssize_t sl_preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags);

/* Send --------------------------------------------------------------------------------------- */

/* send(2), sendto(2), sendmsg(2), sendmmsg(2), writev(2). A datagram is on the device's ring when
 * the call returns. A datagram that exceeds the path's MTU, has no offloaded route, or needs the
 * kernel (MSG_MORE, unknown control messages) is sent by the kernel's socket, in order. ICMP errors
 * of earlier datagrams are returned as ip(7) says. */
ssize_t sl_send(int fd, const void *buf, size_t len, int flags);
ssize_t sl_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		  socklen_t addrlen);
ssize_t sl_sendmsg(int fd, const struct msghdr *msg, int flags);
/* Kicks the device once for many messages. */
int sl_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags);
/* With a total length of 0 it sends nothing and returns 0 (send(2) sends an empty datagram). */
ssize_t sl_writev(int fd, const struct iovec *iov, int n);
ssize_t sl_pwritev2(int fd, const struct iovec *iov, int n, off_t off, int flags); /* alike */

/* sendfile(2), splice(2). To or from a TCP connection of ours the bytes go through a buffer; any
 * other socket of ours is handed back first. */
ssize_t sl_sendfile(int out, int in, off_t *off, size_t len);
ssize_t sl_splice(int in, off_t *in_off, int out, off_t *out_off, size_t len, unsigned flags);

/* Many --------------------------------------------------------------------------------------- */

/* poll(2), ppoll(2), select(2), pselect(2) over any mix of descriptors. They check all,
 * poll the lanes of the offloaded ones for SLUICE_SELECT_POLL microseconds, then sleep on all of
 * them. timeout: NULL waits for ever. sigmask: in force while the call waits; NULL leaves the
 * mask alone. -EINTR after any handler. Does not use malloc(3). sl_select writes the remaining time
 * to timeout, as Linux's select does (n may exceed FD_SETSIZE if the sets are as large). */
int sl_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *sigmask);
int sl_select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timespec *timeout,
	      const sigset_t *sigmask);

/* epoll(7). The descriptor is the kernel's set, with every member that is not ours; offloaded
 * sockets and sets of ours are members in user space, and sl_epoll_wait merges both. All triggers
 * and flags work, sets may be nested, and a thread may change a set while another one waits.
 * Differences: EPOLLEXCLUSIVE wakes every set (which epoll_ctl(2) allows), and a set that is passed
 * to another process or watched by io_uring has the kernel's members only (sl_epoll_hand_back).
 * flags: 0 or EPOLL_CLOEXEC. sl_epoll_ctl: -EBUSY from a signal handler that interrupted a call on
 * the same set; a set made elsewhere becomes ours with its first member of ours. sl_epoll_wait:
 * epoll_wait, epoll_pwait and epoll_pwait2; -EBADF: epfd was closed while it waited. */
int sl_epoll_create(int flags);
int sl_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev);
int sl_epoll_wait(int epfd, struct epoll_event *evs, int max, const struct timespec *timeout,
		  const sigset_t *sigmask);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#include "sluice_process.h"

#endif
