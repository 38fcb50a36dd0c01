/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that make, duplicate and close descriptors. */
#include <errno.h>
#include <netinet/tcp.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/call/choice.h"
#include "sock/call/devices.h"
#include "sock/call/only.h"
#include "sock/call/start.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/told.h"
#include "sock/listen/listen.h"
#include "sock/poll/epoll.h"
#include "sock/poll/sets.h"
#include "sock/stream/tconn.h"

/* The protocol, if we can offload it: IPPROTO_UDP or IPPROTO_TCP; else 0. */
static int protocol_of(int type, int protocol)
{
	if (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP))
		return IPPROTO_UDP;
	if (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP))
		return IPPROTO_TCP;
	return 0;
}

/* The kernel gave this number to a new file: a socket that the table has there was closed by the
 * bare instruction, and ends now. */
static void end_closed(int fd)
{
	struct sl_sock *sk = fd >= 0 ? sl_fd_sock(fd) : NULL;

	if (sl_unlikely(sk != NULL))
		sl_sock_drop_number(sk, fd);
}

/* In the network namespace that we mirror. */
static int make_socket(int domain, int type, int protocol)
{
	int proto = protocol_of(type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), protocol);
	int fd = sl_sys_socket(domain, type, protocol), one = 1;

	end_closed(fd);
	if (fd < 0 || (domain != AF_INET && domain != AF_INET6) || !proto)
		return fd;
	if (sl_start() < 0 || (proto == IPPROTO_TCP && !sl_settings.tcp))
		return fd;
	if (!sl_thread_may_offload() || sl_is_kernel_only() || !sl_sock_same_netns(fd)) {
		sl_stats->not_offloaded++;
		return fd;
	}
	if (proto == IPPROTO_TCP && sl_settings.tcp_nodelay)
		(void)sl_sys_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!sl_sock_new(fd, domain, type, proto))
		sl_warn_once("sock", "too many sockets: new ones stay with the kernel");
	return fd;
}

SL_API
int sl_socket(int domain, int type, int protocol)
{
	return sl_told(make_socket(domain, type, protocol), "socket(%d, %#x, %d)", domain,
		       (unsigned)type, protocol);
}

SL_API
void sl_replace(int fd)
{
	uintptr_t w = sl_fdtab_word(fd);

	if ((w & 3) == SL_FD_SOCK) {
		sl_sock_drop_fd((struct sl_sock *)(w - SL_FD_SOCK), fd);
	} else if ((w & 3) == SL_FD_EPOLL) {
		sl_fdtab_clear(fd);
		sl_epoll_close((struct sl_epoll *)(w - SL_FD_EPOLL), fd);
	}
}

/* The number must leave our table before the kernel can give it to another thread. */
static int close_number(int fd)
{
	int r;

	sl_hold();
	sl_replace(fd);
	r = sl_sys_close(fd);
	sl_release();
	return r;
}

SL_API
int sl_close(int fd)
{
	if (fd <= STDERR_FILENO)
		sl_devices_settle(true);
	return sl_told(close_number(fd), "close(%d)", fd);
}

SL_API
void sl_dup_done(int oldfd, int newfd)
{
	struct sl_sock *sk = sl_fd_sock(oldfd);
	struct sl_epoll *ep = sl_fd_epoll(oldfd);

	if (newfd < 0 || newfd == oldfd)
		return;
	end_closed(newfd);
	if (sk) {
		sl_lock(&sk->slow);
		if (sl_fdtab_set(newfd, SL_FD_SOCK, sk) == 0)
			sk->nfds++;
		sl_unlock(&sk->slow);
	} else if (ep && sl_fdtab_set(newfd, SL_FD_EPOLL, ep) == 0) {
		sl_epoll_dup(ep);
	}
}

SL_API
int sl_hand_back(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	const struct sl_tlisten *l;
	int err;

	if (!sk)
		return -EBADF;
	sl_tlisten_strange(sk);
	err = sl_fd_hand_back(fd);
	l = err == -EBUSY ? sl_load_acquire(&sk->lsn) : NULL;
	return l && sl_tlisten_drains(l) ? 0 : err;
}
