/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a socket: made, handed back, closed.
 *
 * Theory of operation: the objects are table.c's. The lane's lock protects what the packet path
 * touches; `slow`, which is taken first, orders the calls that change names, claims and
 * memberships.
 */
#include "sock/core/sock.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "net/ipconf.h"
#include "net/rtnl.h"
#include "sock/core/errq.h"
#include "sock/core/extra.h"
#include "sock/core/life.h"
#include "sock/core/sock_ops.h"
#include "sock/core/udp_sock.h"
#include "stack/refused.h"

int sl_sock_shadow(const struct sl_sock *sk)
{
	return sl_load(&sk->fd);
}

struct sl_lane *sl_sock_lane(const struct sl_sock *sk)
{
	struct sl_lane *lane = sl_load_acquire(&sk->lane);

	return lane == &sl_limbo ? NULL : lane;
}

bool sl_sock_is(const struct sl_sock *sk, int fd)
{
	return sl_fd_sock(fd) == sk;
}

/* New ------------------------------------------------------------------------------------------ */

uint32_t sl_inode_of(int fd)
{
	struct stat st;

	return sl_sys(SYS_fstat, fd, &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

static void fill_stats(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_sock_stats *s = sk->stats;

	s->fd = sk->fd;
	s->inode = sk->inode;
	s->proto = sk->proto;
	s->family = sk->family;
	s->state = SL_STATE_NEW;
	s->reason = SL_REASON_UNDECIDED;
	s->blocking = !sk->nonblock;
	if (sl_sock_is_udp(sk)) {
		s->rcvbuf = us->udp.rcvbuf;
		s->sndbuf = us->sndbuf;
		s->mc_loop = us->mc_loop;
	}
	sl_store_release(&s->used, 1);
}

void sl_sock_show(struct sl_sock *sk)
{
	sk->stats = sl_stats_sock_new();
	fill_stats(sk);
}

struct sl_sock *sl_sock_new(int fd, int family, int type, int proto)
{
	struct sl_sock *sk = sl_sock_alloc(proto);

	if (!sk)
		return NULL;
	sk->slot = SL_NO_SLOT;
	sk->fd = fd;
	sk->family = (uint8_t)family;
	sk->nonblock = type & SOCK_NONBLOCK;
	sk->nfds = 1;
	sk->forks = sl_load(&sl_forks);
	sk->inode = sl_inode_of(fd);
	sk->stats = sl_stats_sock_new();
	sk->rcvlowat = 1;
	sk->linger_ms = -1;
	sk->pmtudisc = sl_ip_pmtudisc() & 7;
	if (sl_sock_ops(sk)->start && sl_sock_ops(sk)->start(sk) < 0)
		goto free;
	fill_stats(sk);
	if (sl_fdtab_set(fd, SL_FD_SOCK, sk) < 0)
		goto free_slot;
	/* A TCP socket's kernel queue matters only once it listens. */
	if (proto == IPPROTO_UDP)
		sl_shadow_watch(sk, fd);
	return sk;
free_slot:
	if (sk->slot != SL_NO_SLOT)
		sl_slot_free(sk->slot);
free:
	sl_stats_sock_free(sk->stats);
	sl_sock_free(sk);
	return NULL;
}

/* The mirrors and the broker know one network namespace, the one of the first socket. Kernels
 * before 5.14 have no cookie: there a program that changes namespaces must say so by a rule. */
bool sl_sock_same_netns(int fd)
{
	static uint64_t first;
	uint64_t cookie = 0, none = 0;
	socklen_t len = sizeof(cookie);

	if (sl_sys_getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0)
		return true;
	__atomic_compare_exchange_n(&first, &none, cookie, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return sl_load(&first) == cookie;
}

/* Hand back and close ------------------------------------------------------------------------ */

/* Leaves the lane: watchers are told, packets under way go stale. */
static void leave(struct sl_sock *sk, uint32_t event, bool keep_queue)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (sk->slot != SL_NO_SLOT)
		sl_slot_free(sk->slot);
	sk->slot = SL_NO_SLOT;
	sl_sock_notify(sk, event);
	sl_extra_complete(sk, true);
	if (event == SL_READY_GONE)
		sl_extra_end(sk, lane);
	sl_sock_ops(sk)->left(sk, lane, keep_queue);
	if (event == SL_READY_GONE)
		sl_errq_fini(sk, &lane->frames);
	if (lane != &sl_limbo)
		__atomic_fetch_sub(&lane->users, 1, __ATOMIC_RELAXED);
	if (!keep_queue)
		sl_store_release(&sk->lane, &sl_limbo);
	sl_lane_unlock(lane);
}

/* A packet that reaches the kernel while the claims go is read before those that are still on the
 * ring then. So the claims go when no packet has come for this time, if that is soon. */
#define QUIET_NS 300000
#define STORM_NS 20000000
#define PAUSE_NS 20000

bool sl_sock_move_queue(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool some;

	if (!sl_sock_lock(sk, &lane))
		return false;
	sl_lane_turn_locked(lane);
	some = sl_sock_queued(sk);
	if (some)
		sl_sock_ops(sk)->requeue(sk, lane);
	sl_lane_unlock(lane);
	return some;
}

void sl_sock_move_early(struct sl_sock *sk)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t now, quiet, end;

	if (!sl_sock_move_queue(sk))
		return;
	now = sl_now_ns();
	quiet = now + QUIET_NS;
	end = now + STORM_NS;
	while (now < quiet && now < end) {
		sl_sys(SYS_nanosleep, &pause, NULL);
		now = sl_now_ns();
		if (sl_sock_move_queue(sk))
			quiet = sl_now_ns() + QUIET_NS;
	}
}

/* Takes late packets of the flow before the slot closes. requeue: the socket has a reader that does
 * not go through us, so our queue moves to the kernel's. */
static void take_late(struct sl_sock *sk, bool requeue)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sl_lane_turn_locked(lane);
	sl_store(&sk->state, SL_STATE_KERNEL);
	if (requeue)
		sl_sock_ops(sk)->requeue(sk, lane);
	sl_lane_unlock(lane);
}

/* The reason as `sluice stat` shows it: names the remedy of a lack of permission. */
static enum sl_reason shown(enum sl_reason reason)
{
	return reason == SL_REASON_NO_DEVICE && !sl_broker_is_leased() && sl_refused_permission()
		       ? SL_REASON_PERMISSION
		       : reason;
}

/* EXCEPTION_HANDLING finds the options and calls of a program that are not done in user space. */
static void say_leaves(const struct sl_sock *sk, enum sl_reason reason)
{
	bool found = reason == SL_REASON_OPTION && sl_settings.exception_handling > 0;

	sl_log(found ? SL_LOG_ERROR : SL_LOG_DEBUG, "sock", "fd %d goes to the kernel: %s", sk->fd,
	       sl_reason_text(reason));
	if (found && sl_settings.exception_handling == 3) /* as abort(3) */
		sl_sys(SYS_tgkill, sl_sys(SYS_getpid), (long)sl_tid(), SIGABRT);
}

/* The socket goes on as the kernel's. What is in our queue is still read through us first: the
 * descriptor stays ours, in state KERNEL, and every call but receive passes through. requeue: the
 * queued datagrams go to the kernel while new packets still come here, so none overtakes them. */
static void sock_to_kernel(struct sl_sock *sk, enum sl_reason reason, bool requeue)
{
	if (requeue)
		sl_sock_move_early(sk);
	if (!sl_sock_ops(sk)->to_kernel(sk, reason))
		return;
	sk->stats->reason = shown(reason);
	sk->stats->state = SL_STATE_KERNEL;
	if (sk->state == SL_STATE_OFFLOADED)
		sl_stats->handed_back++;
	else
		sl_stats->not_offloaded++;
	say_leaves(sk, reason);
	take_late(sk, requeue);
	leave(sk, SL_READY_DEMOTED, sk->proto == IPPROTO_UDP);
}

static void to_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	bool requeue = sk->proto == IPPROTO_UDP &&
		       (reason == SL_REASON_FORKED || reason == SL_REASON_PASSED);
	bool moved = false;

	sl_lock(&sk->slow);
	sl_store(&sk->given, 0);
	if (sk->state != SL_STATE_KERNEL && sk->nfds) {
		sock_to_kernel(sk, reason, requeue);
		moved = true;
	} else if (requeue && sk->nfds) {
		take_late(sk, true);
	}
	/* The new reason keeps it from coming back when a rule changes. */
	if (sk->state == SL_STATE_KERNEL && reason == SL_REASON_PASSED)
		sk->stats->reason = reason;
	sl_unlock(&sk->slow);
	if (moved && sl_sock_ops(sk)->moved)
		sl_sock_ops(sk)->moved(sk);
}

void sl_sock_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	SL_ROOMY(to_kernel, sk, reason);
}

void sl_sock_kernel_of(struct sl_sock *sk, const void *what, enum sl_reason reason)
{
	sl_lock(&sk->slow);
	if (sk->nfds && sk->state != SL_STATE_KERNEL &&
	    (sl_load(&sk->conn) == what || sl_load(&sk->lsn) == what))
		SL_ROOMY(sock_to_kernel, sk, reason, false);
	sl_unlock(&sk->slow);
}

int sl_fd_hand_back(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	if (!sk)
		return -EBADF;
	sl_sock_kernel(sk, SL_REASON_PASSED);
	return sl_load(&sk->state) == SL_STATE_OFFLOADED ? -EBUSY : 0;
}

bool sl_sock_wait_moved(struct sl_sock *sk)
{
	if (!sl_lock(&sk->slow))
		return false;
	sl_unlock(&sk->slow);
	return true;
}

bool sl_sock_in_kernel(struct sl_sock *sk)
{
	sl_given_look_at(sk);
	for (;;) {
		__atomic_fetch_add(&sk->in_kernel, 1, __ATOMIC_SEQ_CST);
		if (sl_likely(!__atomic_load_n(&sk->taking, __ATOMIC_SEQ_CST)))
			break;
		__atomic_fetch_sub(&sk->in_kernel, 1, __ATOMIC_RELEASE);
		if (!sl_sock_wait_moved(sk)) /* a signal handler in the midst of it */
			return false;
	}
	if (sl_likely(sl_load(&sk->state) == SL_STATE_KERNEL))
		return true;
	sl_sock_out_of_kernel(sk);
	return false;
}

/* Another descriptor of the socket, when the one we used is closed. */
static int other_fd(struct sl_sock *sk, int closing)
{
	for (uint32_t fd = 0; fd < sl_fdtab_end; fd++)
		if ((int)fd != closing && sl_fd_sock((int)fd) == sk)
			return (int)fd;
	return -1;
}

/* Does the keeper look at what the kernel has for it? */
static bool is_watched(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_UDP || sk->lsn;
}

void sl_sock_leave_to_others(struct sl_sock *sk)
{
	const struct sl_sock_ops *ops = sl_sock_ops(sk);

	if (ops->needs_kernel && ops->needs_kernel(sk))
		SL_ROOMY(sock_to_kernel, sk, SL_REASON_FORKED, false);
}

/* The socket ends; slow held. shared: a child may have it. */
static void end(struct sl_sock *sk, int fd, bool shared)
{
	struct sl_lane *lane;

	if (sk->state != SL_STATE_KERNEL) {
		sl_sock_ops(sk)->close(sk, fd);
		/* A child that has it still reads what came for it. */
		if (shared && sl_sock_is_udp(sk))
			take_late(sk, true);
		leave(sk, SL_READY_GONE, false);
	} else if (sl_sock_lock(sk, &lane)) {
		sl_sock_notify(sk, SL_READY_GONE);
		sl_extra_end(sk, lane);
		if (sl_sock_is_udp(sk))
			sl_udp_fini(&sl_udp_sk(sk)->udp, &lane->frames);
		sl_errq_fini(sk, &lane->frames);
		sl_store_release(&sk->lane, &sl_limbo);
		sl_lane_unlock(lane);
	}
}

/* Ports of sockets that ended lately, a place for each by the port's low bits: the time in ms, and
 * the port. Atomic. */
#define ENDED_PORTS 64
#define ENDED_MS    1000
static uint64_t ended[ENDED_PORTS];

static uint64_t now_ms(void)
{
	return sl_now_ns() / 1000000;
}

bool sl_sock_port_was_ours(uint16_t port)
{
	uint64_t e = sl_load(&ended[port % ENDED_PORTS]);

	return port && (uint16_t)e == port && now_ms() - (e >> 16) < ENDED_MS;
}

void sl_sock_finish(struct sl_sock *sk, int fd, bool shared)
{
	const struct sl_sock_ops *ops = sl_sock_ops(sk);

	if (sk->local_port)
		sl_store(&ended[sk->local_port % ENDED_PORTS], now_ms() << 16 | sk->local_port);
	SL_ROOMY(end, sk, fd, shared);
	if (ops->ended)
		ops->ended(sk);
	sl_stats_sock_free(sk->stats); /* others may count into it still: it stays mapped */
	sl_unlock(&sk->slow);
	if (shared && ops->closed_to_child)
		ops->closed_to_child(sk, fd);
	sl_sock_free(sk);
}

void sl_sock_unpark(struct sl_sock *sk)
{
	int fd;

	if (!sl_lock(&sk->slow))
		return;
	fd = sk->fd;
	sk->parked = false;
	sl_sock_finish(sk, fd, false);
	sl_sys_close(fd);
}

/* Calls that outlive their number --------------------------------------------------------------
 *
 * In the kernel a call that sleeps has a reference to its file: close(2) or dup2(2) takes only the
 * number away, and the peer sees the end when the call has returned. So a socket on which threads
 * sleep is parked: its shadow gets a number of the library's, and the keeper closes it a moment
 * after the last sleeper has left. */

#define LEAVING_NS 2000000 /* within which a thread that was woken for nothing sleeps again */

static uint64_t awaited_due_ns; /* 0: the keeper has looked since a thread left; atomic */

/* (At 255 it stays: so many are not counted. At 0, too, which a child's is whose handler returns
 * into a call.) */
static void count_sleepers(struct sl_sock *sk, int change)
{
	uint8_t n = sl_load(&sk->sleepers);

	while (n != UINT8_MAX && n + change >= 0 &&
	       !__atomic_compare_exchange_n(&sk->sleepers, &n, (uint8_t)(n + change), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static void look_at_awaited(void)
{
	sl_store(&awaited_due_ns, sl_now_ns() + LEAVING_NS);
	sl_rtnl_wake();
}

void sl_sock_sleep_begin(struct sl_sock *sk)
{
	count_sleepers(sk, 1);
}

void sl_sock_sleep_end(struct sl_sock *sk, uint32_t gen)
{
	if (sl_load(&sk->gen) == gen)
		count_sleepers(sk, -1);
	if (sl_unlikely(sk->awaited))
		look_at_awaited();
}

/* slow held. */
static bool park_awaited(struct sl_sock *sk, int fd)
{
	int own = __atomic_load_n(&sk->sleepers, __ATOMIC_SEQ_CST) ? sl_fd_dup(fd) : -1;

	if (own < 0)
		return false;
	sk->parked = true;
	sl_store(&sk->fd, own);
	sk->stats->fd = own;
	sk->awaited = true;
	if (is_watched(sk)) {
		sl_shadow_unwatch(fd);
		sl_shadow_watch(sk, own);
	}
	__atomic_thread_fence(__ATOMIC_RELEASE); /* before the number is cleared */
	look_at_awaited();                       /* they may have left */
	return true;
}

/* The last number is closed. slow is held, and not after it. */
static void end_or_stay(struct sl_sock *sk, int file, bool shared)
{
	const struct sl_sock_ops *ops = sl_sock_ops(sk);

	if (shared && file >= 0 && ops->parks && ops->parks(sk, file)) {
		sl_unlock(&sk->slow);
		return;
	}
	if (shared)
		sl_sock_leave_to_others(sk);
	if (shared && ops->stays && ops->stays(sk))
		sl_unlock(&sk->slow);
	else
		sl_sock_finish(sk, file, shared);
}

static void end_if_left(struct sl_sock *sk, void *arg)
{
	int fd;

	if (!sk->awaited || __atomic_load_n(&sk->sleepers, __ATOMIC_ACQUIRE))
		return;
	sk->awaited = false;
	if (!sl_lock(&sk->slow))
		return;
	fd = sk->fd;
	sk->parked = false;
	end_or_stay(sk, fd, sk->forks != sl_load(&sl_forks));
	sl_sys_close(fd);
}

void sl_sock_awaited_look(uint64_t now_ns)
{
	uint64_t due = sl_load(&awaited_due_ns);

	if (!due || now_ns < due)
		return;
	sl_sock_for_each(end_if_left, NULL);
	__atomic_compare_exchange_n(&awaited_due_ns, &due, 0, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

uint64_t sl_sock_awaited_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_load(&awaited_due_ns);
}

bool sl_sock_awaited_ends(void)
{
	return sl_load(&awaited_due_ns);
}

/* Numbers -------------------------------------------------------------------------------------- */

/* file: fd, or -1 if the number does not mean the socket any more. */
static void drop_fd(struct sl_sock *sk, int fd, int file)
{
	bool shared = sk->forks != sl_load(&sl_forks);

	sl_lock(&sk->slow);
	if (file >= 0 && sk->nfds == 1 && park_awaited(sk, file)) {
		sl_fdtab_clear(fd);
		sl_unlock(&sk->slow);
		return;
	}
	sl_fdtab_clear(fd);
	if (shared && sk->fd == fd && is_watched(sk))
		sl_shadow_unwatch(fd);
	if (sk->nfds > 1) {
		sk->nfds--;
		if (sk->fd == fd) {
			sl_store(&sk->fd, other_fd(sk, fd));
			sk->stats->fd = sk->fd;
			if (shared && is_watched(sk))
				sl_shadow_watch(sk, sk->fd);
		}
		sl_unlock(&sk->slow);
		return;
	}
	end_or_stay(sk, file, shared);
}

void sl_sock_drop_fd(struct sl_sock *sk, int fd)
{
	drop_fd(sk, fd, fd);
}

void sl_sock_drop_number(struct sl_sock *sk, int fd)
{
	drop_fd(sk, fd, -1);
}
