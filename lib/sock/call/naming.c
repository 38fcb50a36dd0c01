/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that give a socket names: bind, connect, listen, accept; and that ask for them. */
#include <errno.h>
#include <limits.h>

#include "base/handler.h"
#include "base/guard.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sluice.h"
#include "sock/call/only.h"
#include "sock/call/start.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/told.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/swap.h"
#include "sock/stream/tconn.h"

#define AGAIN_MS         100
#define SIN6_LEN_RFC2133 24 /* net/ipv6.h: without the scope */

/* bind(2) of a socket that has a name fails as in __inet_bind(), which checks the family first. (A
 * child's shadow has no name, so the kernel would let it bind.) */
static int bind_named(const struct sl_sock *sk, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	bool v4 = sk->family == AF_INET;

	if (!addr || len < (v4 ? sizeof(*in) : SIN6_LEN_RFC2133) || addr->sa_family == sk->family)
		return -EINVAL;
	return v4 && addr->sa_family == AF_UNSPEC && !in->sin_addr.s_addr ? -EINVAL : -EAFNOSUPPORT;
}

/* The keeper closes a socket on which threads slept when the program closed it. The daemon may
 * still hold its copy of a socket that this process has closed: it closes what it was passed in a
 * thread of its own, some milliseconds later on a busy machine. */
static bool is_free_soon(const struct sockaddr *addr, socklen_t len)
{
	struct sl_addr a;
	uint32_t scope;
	uint16_t port;

	if (sl_sock_awaited_ends())
		return true;
	return sl_broker_is_leased() && sl_addr_from_sockaddr(addr, len, &a, &port, &scope) == 0 &&
	       sl_sock_port_was_ours(port);
}

/* A connection that has ended keeps its port until its claim goes, and some answer their peers
 * until then; the kernel gives the port back at once. */
static void free_port(const struct sockaddr *addr, socklen_t len)
{
	struct sl_addr a;
	uint32_t scope;
	uint16_t port;

	if (sl_addr_from_sockaddr(addr, len, &a, &port, &scope) == 0 && port)
		(void)sl_tconn_hurry(port);
}

static int bind_to(int fd, const struct sockaddr *addr, socklen_t len)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int err = sl_sys_bind(fd, addr, len);

	if (sl_unlikely(err == -EADDRINUSE)) {
		free_port(addr, len);
		err = sl_sys_bind(fd, addr, len);
	}
	if (sl_likely(err != -EADDRINUSE) || !is_free_soon(addr, len))
		return err;
	for (int i = 0; i < AGAIN_MS && err == -EADDRINUSE; i++) {
		sl_sys(SYS_nanosleep, &pause, NULL);
		err = sl_sys_bind(fd, addr, len);
	}
	return err;
}

/* (The kernel refuses an address that is longer than any, and does not read it.) */
static bool can_read(const struct sockaddr *addr, socklen_t len)
{
	return len <= sizeof(struct sockaddr_storage) && !sl_guard_touch(addr, len);
}

static int bind_any(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_addr a;
	uint32_t scope;
	uint16_t port;
	int err;

	if (sl_sock_is_tcp(sk) && sl_tcp_sock_is_named(sk) && can_read(addr, len))
		return bind_named(sk, addr, len);
	if (sk && sl_unlikely(sk->named || sk->port_over)) {
		sl_lock(&sk->slow);
		sl_swap_unname(sk);
		sl_unlock(&sk->slow);
	}
	if (sl_sock_is_tcp(sk) && can_read(addr, len) && sl_tcp_port_is_held(sk, addr, len))
		return -EADDRINUSE;
	err = sk ? bind_to(fd, addr, len) : sl_sys_bind(fd, addr, len);

	if (err == 0 && sk) {
		sk->any_port = sl_addr_from_sockaddr(addr, len, &a, &port, &scope) == 0 && !port;
		sl_sock_decide(sk);
		sl_sock_wait_links(sk, 0);
	}
	return err;
}

SL_API
int sl_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	char name[SL_TOLD_NAME];

	return sl_told(bind_any(fd, addr, len), "bind(%d, %s)", fd, sl_told_name(addr, len, name));
}

static bool is_nowhere(const struct sockaddr *addr, socklen_t len)
{
	return len >= sizeof(addr->sa_family) && !sl_guard_touch(addr, sizeof(addr->sa_family)) &&
	       addr->sa_family == AF_UNSPEC;
}

/* A socket of the kernel's connects once more: the port that an earlier connect(2) gave it goes
 * with its file, whose place in epoll sets the next one takes. (A connection that has ended in the
 * kernel is still the socket's, and AF_UNSPEC leaves a disconnected one its name.) */
static SL_COLD void unname(struct sl_sock *sk)
{
	struct sl_epoll_moved sets;

	sl_epoll_leave_kernel(sk, &sets);
	sl_lock(&sk->slow);
	if (sk->phase == SL_UNCONNECTED)
		sl_swap_unname(sk);
	sl_unlock(&sk->slow);
	sl_epoll_enter_ours(&sets);
}

static int connect_any(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err;

	if (sk && !sl_in_signal())
		sl_only_look();
	if (sl_sock_is_tcp(sk) && sl_unlikely(sk->named) && sk->phase == SL_UNCONNECTED &&
	    sl_load(&sk->state) == SL_STATE_KERNEL && !is_nowhere(addr, len))
		unname(sk);
	if (sl_sock_is_tcp(sk))
		return sl_tcp_sock_connect(sk, fd, addr, len);
	sl_sock_change(sk);
	err = sl_sys_connect(fd, addr, len);
	if (err == 0 && sk) {
		sl_sock_decide(sk);
		sl_sock_wait_links(sk, 0);
	}
	return err;
}

SL_API
int sl_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	char name[SL_TOLD_NAME];

	return sl_told(connect_any(fd, addr, len), "connect(%d, %s)", fd,
		       sl_told_name(addr, len, name));
}

static int shut_down(int fd, int how)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_lane *lane;
	int err;

	if (sl_sock_is_tcp(sk)) {
		err = sl_tcp_sock_shutdown(sk, fd, how);
		if (!err && how != SHUT_WR && sl_tlisten_is_shared(sk))
			sl_tlisten_reset_given(sk);
		return err;
	}
	sl_sock_change(sk);
	/* (First ours: the keeper sees the kernel's socket become readable, and wakes threads that
	 * look for all events then.) */
	if (sk && how >= SHUT_RD && how <= SHUT_RDWR && sl_sock_lock(sk, &lane)) {
		if (how != SHUT_RD)
			sl_udp_sk(sk)->tx_shut = true;
		if (how != SHUT_WR)
			sl_udp_sk(sk)->udp.rx_shut = true;
		sl_lane_unlock(lane);
	}
	err = (int)sl_sys(SYS_shutdown, fd, how);
	/* ENOTCONN: Linux shuts an unconnected UDP socket down all the same and says so. */
	if (!sk || (err < 0 && err != -ENOTCONN) || !sl_sock_lock(sk, &lane))
		return err;
	sl_sock_notify(sk, EPOLLIN | EPOLLRDHUP | EPOLLHUP);
	sl_lane_unlock(lane);
	return err;
}

SL_API
int sl_shutdown(int fd, int how)
{
	return sl_told(shut_down(fd, how), "shutdown(%d, %d)", fd, how);
}

/* Reports no name: a port that we chose ends with its connection, as in tcp_disconnect(). (A
 * connection of the kernel's that its peer has ended keeps its name.) */
static int say_unnamed(const struct sl_sock *sk, struct sockaddr *addr, socklen_t *len)
{
	struct sl_addr any = sk->family == AF_INET ? sl_addr_v4(0) : (struct sl_addr){0};

	if (!addr || sl_guard_touch_out(len, sizeof(*len)))
		return -EFAULT;
	if (*len > INT_MAX)
		return -EINVAL;
	return sl_addr_to_sockaddr(&any, sk->local_port, 0, sk->family, addr, len);
}

/* False: the kernel knows the name. */
static bool name_is_ours(int fd, bool peer, struct sockaddr *addr, socklen_t *len, int *err)
{
	struct sl_sock *sk = sl_tcp_sock(fd);

	if (sk && !peer && sk->named && !sl_load(&sk->conn) &&
	    (sl_load(&sk->state) != SL_STATE_KERNEL || sl_swap_is_fresh(fd))) {
		*err = say_unnamed(sk, addr, len);
		return true;
	}
	if (!sk || !sl_load(&sk->conn))
		return false;
	*err = sl_tcp_sock_name(sk, peer, addr, len);
	return *err != -EREMOTE;
}

/* SLUICE_TRIGGER_DUMMY_SEND_GETSOCKNAME: a send of so many bytes, as libvma's, that ends before the
 * device has it. A socket without a peer has nothing that could be warmed. */
static SL_COLD void warm_send(int fd)
{
	static const uint8_t zeros[264];
	const struct sl_sock *sk = sl_fd_sock(fd);

	if (sk && sk->proto == IPPROTO_UDP && sl_load(&sk->state) == SL_STATE_OFFLOADED)
		sl_send(fd, zeros, sizeof(zeros), MSG_SYN | MSG_DONTWAIT);
}

SL_API
int sl_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	int err;

	if (sl_unlikely(sl_settings.trigger_dummy_send_getsockname))
		warm_send(fd);
	return name_is_ours(fd, false, addr, len, &err) ? err : sl_sys_getsockname(fd, addr, len);
}

SL_API
int sl_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	int err;

	return name_is_ours(fd, true, addr, len, &err) ? err : sl_sys_getpeername(fd, addr, len);
}

static int listen_on(int fd, int backlog)
{
	struct sl_sock *sk = sl_tcp_sock(fd);

	if (sk && sl_load(&sk->state) != SL_STATE_KERNEL)
		return sl_tcp_sock_listen(sk, fd, backlog);
	return sl_sysi(SYS_listen, fd, backlog);
}

SL_API
int sl_listen(int fd, int backlog)
{
	return sl_told(listen_on(fd, backlog), "listen(%d, %d)", fd, backlog);
}

SL_API
int sl_accept_left(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct sl_sock *sk = sl_tcp_sock(fd);

	return sk ? sl_tcp_sock_accept_left(sk, fd, addr, len, flags) : -EAGAIN;
}

/* do_accept() takes the connection before it writes the name: where that fails, by this error, the
 * connection is lost. */
static int name_error(struct sockaddr *addr, socklen_t *len)
{
	if (!len || sl_guard_touch_out(len, sizeof(*len)))
		return -EFAULT;
	if ((int)*len < 0)
		return -EINVAL;
	return sl_guard_touch_out(addr, sl_min(*len, (socklen_t)sizeof(addr->sa_family))) ? -EFAULT
											  : 0;
}

/* A listener that drains gives connections of ours, too. They go on to the kernel here, in a thread
 * that has the number: others may have descriptors of their own. */
static void leave_accepted(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	if (sk && sl_is_kernel_only() && sl_fd_hand_back(fd) == 0)
		sl_sock_drop_number(sk, fd);
}

static int accept_from(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct sl_sock *sk;
	int r;

	if (sl_unlikely(sl_load(&sl_up_state) == -ECHILD))
		sl_start_not_here();
	sl_tcp_sock_accepts(fd);
	sk = sl_tcp_sock(fd);
	if (sk) {
		int lost = addr ? name_error(addr, len) : 0;

		if (sl_unlikely(sk->heir) && sl_load(&sk->lsn))
			sl_tlisten_return(sk);
		r = sl_tcp_sock_accept(sk, fd, lost ? NULL : addr, lost ? NULL : len, flags);
		if (sl_unlikely(lost && r >= 0)) {
			sl_close(r);
			return lost;
		}
		if (r >= 0 && !sl_fd_sock(r)) /* the kernel's, so far */
			sl_inherit_accepted(sk, r, flags);
		else if (r >= 0)
			leave_accepted(r);
		return r;
	}
	return (int)sl_sys_cancel(SYS_accept4, fd, addr, len, flags);
}

SL_API
int sl_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return sl_told(accept_from(fd, addr, len, flags), "accept4(%d, %#x)", fd, (unsigned)flags);
}
