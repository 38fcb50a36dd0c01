/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at what the kernel has for the shadows: data, connections, errors.
 *
 * Theory of operation: all shadows are in one edge-triggered epoll set. The keeper reads the set,
 * notes in each socket what the kernel has for it (sl_sock.os) and tells the socket's waiters, so
 * that a call asks the kernel only when there may be something. */
#include "sock/core/shadow.h"

#include <errno.h>
#include <poll.h>

#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/proc/keeper.h"

static int shadow_ep = -1; /* all shadows, edge-triggered */

void sl_shadow_watch(const struct sl_sock *sk, int fd)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLERR | EPOLLET,
		.data.u64 = (uint64_t)sl_load(&sk->gen) << 32 | sl_sock_ref(sk),
	};

	sl_sys_epoll_ctl(shadow_ep, EPOLL_CTL_ADD, fd, &ev);
}

void sl_shadow_unwatch(int fd)
{
	if (shadow_ep >= 0) /* (a child that is confined may not try) */
		sl_sys_epoll_ctl(shadow_ep, EPOLL_CTL_DEL, fd, NULL);
}

/* Lane held. */
static void outdate_path(struct sl_sock *sk)
{
	if (sl_sock_is_udp(sk))
		sl_dst_outdate(sl_udp_sk(sk)->path.d);
}

static void tell(struct sl_sock *sk, uint8_t bits)
{
	uint8_t had = __atomic_fetch_or(&sk->os, bits, __ATOMIC_RELEASE);
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (bits & SL_OS_ERR)
		outdate_path(sk);
	/* Datagrams of ours that wait already are older than the kernel's first one. */
	if (sl_sock_is_udp(sk) && bits & SL_OS_IN & ~had)
		sl_udp_sk(sk)->os_turn = sl_udp_queued(&sl_udp_sk(sk)->udp) != 0;
	if (!sl_list_empty(&sk->watches))
		sl_sock_notify(sk, (bits & SL_OS_IN ? EPOLLIN | EPOLLRDNORM : 0) |
					   (bits & SL_OS_ERR ? EPOLLERR : 0));
	sl_lane_unlock(lane);
}

static void on_shadow(struct sl_sock *sk, uint32_t events)
{
	uint8_t bits = 0;

	if (events & EPOLLIN)
		bits |= SL_OS_IN;
	if (events & EPOLLERR)
		bits |= SL_OS_ERR | SL_OS_IN; /* a waiting receive must return the error */
	if (bits)
		tell(sk, bits);
}

void sl_shadow_look(void)
{
	struct epoll_event evs[32];
	int n = sl_sys_epoll_wait(shadow_ep, evs, sl_array_len(evs), 0);

	for (int i = 0; i < n; i++) {
		struct sl_sock *sk =
			sl_sock_at((uint32_t)evs[i].data.u64, (uint32_t)(evs[i].data.u64 >> 32));

		if (sk)
			on_shadow(sk, evs[i].events);
	}
}

static void on_events(uint32_t events)
{
	sl_shadow_look();
}

int sl_shadow_open(void)
{
	shadow_ep = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));
	if (shadow_ep < 0)
		return -EMFILE;
	sl_keeper_watch_fd(shadow_ep, EPOLLIN, on_events);
	return 0;
}

void sl_shadow_close(void)
{
	if (shadow_ep >= 0)
		sl_sys_close(shadow_ep);
	shadow_ep = -1;
}

/* Errors --------------------------------------------------------------------------------------- */

void sl_sock_path_again(struct sl_sock *sk)
{
	struct sl_lane *lane;

	if (!sl_sock_is_udp(sk) || !sl_sock_lock(sk, &lane))
		return;
	outdate_path(sk);
	sl_lane_unlock(lane);
}

void sl_sock_take_error(struct sl_sock *sk)
{
	__atomic_fetch_and(&sk->os, (uint8_t)~SL_OS_ERR, __ATOMIC_ACQ_REL);
	sl_sock_path_again(sk);
}

void sl_sock_look_error(struct sl_sock *sk, int fd)
{
	struct pollfd p = {.fd = fd};
	struct timespec zero = {0, 0};

	__atomic_fetch_and(&sk->os, (uint8_t)~SL_OS_ERR, __ATOMIC_ACQ_REL);
	if (sl_load(&sk->error) ||
	    (sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 0) > 0 && p.revents & POLLERR))
		__atomic_fetch_or(&sk->os, SL_OS_ERR, __ATOMIC_RELEASE);
}

int sl_sock_pending_error(struct sl_sock *sk, int fd)
{
	socklen_t len = sizeof(int);
	int err = 0, kept;

	sl_sock_take_error(sk);
	kept = sl_sock_kept_error(sk);
	sl_sys_getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err ? -err : -kept;
}

void sl_sock_keep_error(struct sl_sock *sk, int err)
{
	sl_store(&sk->error, (int16_t)err);
	tell(sk, SL_OS_ERR);
}

int sl_sock_get_int(const struct sl_sock *sk, int level, int name)
{
	int v = 0;

	return sl_sys_get_int(sk->fd, level, name, &v) < 0 ? 0 : v;
}
