/* SPDX-License-Identifier: BSD-2-Clause */
/* A listener closed here, with handshakes under way, that other processes have.
 *
 * Theory of operation: in the kernel the handshakes are the listener's, which exists as long as
 * a process has it. Here they are this process's. So the socket stays, draining, without the
 * program's descriptor, and each connection whose handshake ends goes to the others by the box
 * (listen/share.c); the rest ends as unanswered SYN-ACKs do, after tcp_synack_retries. The
 * kernel's listener is closed as the program wanted it, so that its port is free once the others
 * have closed it, too: a socket that was never bound stands in for it and knows its options. When
 * no other process has the box there is no listener any more, and the rest is reset by the kernel.
 */
#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/listen/listen.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

static uint32_t staying;

uint32_t sl_tlisten_staying(void)
{
	return sl_load(&staying);
}

static int stand_in(const struct sl_sock *sk)
{
	int fd = sl_fd_keep(sl_sys_socket(sk->family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));

	if (fd >= 0)
		sl_tcp_opt_give(sk, fd);
	return fd;
}

bool sl_tlisten_stay(struct sl_sock *sk)
{
	struct sl_lane *lane;
	int fd;

	if (!sl_is_up() || sl_tlisten_is_alone(sk))
		return false;
	fd = stand_in(sk);
	if (fd < 0 || !sl_tlisten_box_leave(sk) || !sl_sock_lock(sk, &lane)) {
		if (fd >= 0)
			sl_sys_close(fd);
		return false;
	}
	sl_debug("tcp", "fd %d: closed, but for %u handshakes", sk->fd, sk->lsn->tcp.nrequests);
	sl_store(&sk->fd, fd);
	sk->stats->fd = fd;
	sk->phase = SL_STAYING;
	sl_sock_notify(sk, SL_READY_GONE);
	sl_lane_unlock(lane);
	__atomic_fetch_add(&staying, 1, __ATOMIC_RELAXED);
	return true;
}

/* Ends the stay of a listener that is closed here. `slow` is held. */
static void stay_ends(struct sl_sock *sk)
{
	sk->phase = SL_UNCONNECTED;
	__atomic_fetch_sub(&staying, 1, __ATOMIC_RELAXED);
	if (!sk->lsn)
		return;
	/* No other process can be given its connections now. */
	sk->heir = false;
	sk->lsn->others = false;
}

/* Gives new connections to the other processes, and ends the listener when none are left. */
static void look(struct sl_sock *sk, void *arg)
{
	int fd;

	if (!sl_sock_stays(sk) || !sl_lock(&sk->slow))
		return;
	if (sk->state != SL_STATE_KERNEL)
		sl_sock_leave_to_others(sk);
	if (sk->state != SL_STATE_KERNEL && !sl_tlisten_is_alone(sk)) {
		sl_unlock(&sk->slow);
		return;
	}
	fd = sk->fd;
	stay_ends(sk);
	sl_sock_finish(sk, fd, false);
	sl_sys_close(fd);
}

void sl_tlisten_look_staying(void)
{
	if (sl_tlisten_staying())
		sl_sock_for_each(look, NULL);
}

void sl_tlisten_stay_child(void)
{
	staying = 0;
}
