/* SPDX-License-Identifier: BSD-2-Clause */
/* A listening socket that several processes have, by fork.
 *
 * Theory of operation: in the kernel the processes share one queue, and the first to accept gets a
 * connection. Here each process has a queue of its own, on its own lane. The endpoint's claim is a
 * group: the steering program sends a SYN to one of its targets by the flow's hash, as the kernel
 * does for SO_REUSEPORT, and all later segments to the target that had the SYN (bpf/group.bpf.h),
 * so that members come and go without harm to connections. The kernel's queue remains common to
 * all: connections that are not steered (loopback, other devices, no member present) wait there,
 * and every process accepts from both queues.
 *
 * Unlike in the kernel, a connection cannot go to another process once its SYN was steered. So a
 * process becomes a member only by its first poll or epoll call for a non-blocking listener: such
 * a process has other work and comes back to its queue. A parent that forks workers and never
 * accepts (nginx, Apache) is no member: it leaves the endpoint when the first child joins. A
 * process that blocks in accept(2) and then serves that one client to the end (Apache) would keep
 * the next client waiting: it accepts from the kernel's queue, and takes over connections that last
 * (inherit.c). The daemon removes a process that dies.
 *
 * A process that leaves while others stay (it closes the listener, or is the parent) must not reset
 * the connections in its queue, which the kernel does not know. They are handed back to the kernel,
 * and their descriptors go into the listener's *box*, a socket pair that all the processes have;
 * accept(2) reads it as it does the kernel's queue. Handshakes under way follow as they end
 * (listen/stay.c), and so do connections that reached a parent before a child first accepted, with
 * or without the daemon. A process that blocks in accept(2) sleeps on box and queue. A process that
 * lets a connection wait for long (STALL_NS) gives its queue away likewise, and has no part until
 * it accepts again. For a killed process the daemon, which has the box's end, too, does it from the
 * memory left behind (tools/death/rescue.c). A stopped process (SIGSTOP) gets no new connections
 * until it goes on (the daemon: stopped.c). One difference to a single queue is left: connections
 * that are in the process's queue at that moment wait.
 *
 * Workers that poll in turn, each while it holds a common mutex (Apache's with two listeners),
 * stall one after the other. After STALLS_MAX stalls in a row no process has a part any more: all
 * accept from the kernel's queue, and take over connections that last. The same holds once another
 * program has the listener, by execve(2) or SCM_RIGHTS. One that was executed accepts from the box,
 * too (box_exec.c).
 *
 * A parent that accepts and lets a child serve each connection (PostgreSQL, sshd) is different:
 * each connection would have to be handed back, which costs more than it gains. After FORKED_MIN
 * of these its listener goes to the kernel, with the daemon and without. The child takes over the
 * connections accepted from then on (inherit.c). */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/listen/box.h"
#include "sock/listen/listen.h"
#include "sock/stream/tconn.h"

#define PATIENCE_NS 20000000 /* for handshakes, when the process ends */
#define LOOK_NS     200000
#define FORKED_MIN  8 /* connections that only children used */
#define STALL_NS    200000000
#define STALLS_MAX  6             /* in a row, of all the processes, */
#define ROW_NS      1000000000ull /* with no longer than that from one to the next */

/* Leaving ---------------------------------------------------------------------------------------
 */

void sl_tlisten_for_others(struct sl_sock *sk)
{
	sl_lock(&sk->slow);
	if (sk->lsn)
		sk->lsn->others = true;
	sl_unlock(&sk->slow);
}

/* SYNs come here no more, but those that were answered end their handshakes. */
void sl_tlisten_closing(struct sl_sock *sk)
{
	uint64_t end = sl_now_ns() + PATIENCE_NS;
	struct timespec pause = {.tv_nsec = LOOK_NS};

	if (!sk->heir && !sk->lsn->others)
		return;
	while (sl_load(&sk->lsn->tcp.nrequests) && sl_now_ns() < end) {
		sl_sys(SYS_nanosleep, &pause, NULL);
		sl_lane_turn(sl_load_acquire(&sk->lane));
	}
	sl_tlisten_give(sk);
}

static bool is_hopeless(const struct sl_sock *sk)
{
	const struct sl_crowd *c = sl_tbox_crowd(sk);

	return (c && sl_load(&c->stalls) >= STALLS_MAX) || sl_tbox_is_strange(sk);
}

static void count_stall(const struct sl_sock *sk, uint64_t now_ns)
{
	struct sl_crowd *c = sl_tbox_crowd(sk);
	uint64_t last;

	if (!c)
		return;
	last = __atomic_exchange_n(&c->last_ns, now_ns, __ATOMIC_RELAXED);
	if (sl_load(&c->stalls) >= STALLS_MAX)
		return;
	if (now_ns - last > ROW_NS && last < now_ns)
		sl_store(&c->stalls, 0);
	if (__atomic_add_fetch(&c->stalls, 1, __ATOMIC_RELAXED) == STALLS_MAX)
		sl_info("tcp",
			"fd %d: workers do not look after their parts: the kernel deals "
			"new connections out",
			sk->fd);
}

static void go_away(struct sl_sock *sk)
{
	struct sl_tlisten *l;

	if (!sl_trylock(&sk->slow))
		return;
	l = sk->lsn;
	if (l && l->state == SL_TLISTEN_OPEN) {
		sl_tlisten_enter(l, SL_TLISTEN_AWAY);
		sl_tlisten_leave(sk);
		sl_tlisten_give(sk);
		sl_debug("tcp", "fd %d: nobody accepts: others are to", sk->fd);
	}
	sl_unlock(&sk->slow);
}

/* Handshakes that were under way when it went have ended since. */
static void give_late(struct sl_sock *sk)
{
	if (!sl_trylock(&sk->slow))
		return;
	if (sk->lsn && sk->lsn->state == SL_TLISTEN_AWAY)
		sl_tlisten_give(sk);
	sl_unlock(&sk->slow);
}

void sl_tlisten_look_stalled(uint64_t now_ns)
{
	for (unsigned i = 0; i < sl_tbox_count(); i++) {
		struct sl_sock *sk = sl_tbox_member(i);
		struct sl_tlisten *l = sk ? sl_load_acquire(&sk->lsn) : NULL;

		if (!l || sl_tlisten_drains(l))
			continue;
		if (sl_load(&l->state) == SL_TLISTEN_AWAY) {
			if (sl_load(&l->tcp.nchildren))
				give_late(sk);
			continue;
		}
		if (is_hopeless(sk)) {
			go_away(sk);
			continue;
		}
		/* The keeper may not have looked for seconds, so that only what two looks found is
		 * known to have waited from the one to the other. */
		if (!sl_load(&l->tcp.nchildren)) {
			l->since_ns = 0;
		} else if (!l->since_ns || sl_load(&l->accepted) != l->seen) {
			l->seen = sl_load(&l->accepted);
			l->since_ns = now_ns;
		} else if (now_ns - l->since_ns > STALL_NS) {
			count_stall(sk, now_ns);
			go_away(sk);
		}
	}
}

void sl_tlisten_return(struct sl_sock *sk)
{
	struct sl_tlisten *l = sl_load_acquire(&sk->lsn);

	if (!l || sl_load(&l->state) != SL_TLISTEN_AWAY || is_hopeless(sk))
		return;
	sl_lock(&sk->slow);
	l = sk->lsn;
	if (l && l->state == SL_TLISTEN_AWAY && sl_sock_claim_listener(sk) == SL_REASON_NONE) {
		l->since_ns = 0;
		sl_tlisten_enter(l, SL_TLISTEN_OPEN);
		sl_debug("tcp", "fd %d: accepts again", sk->fd);
	}
	sl_unlock(&sk->slow);
}

static void leave_at_exit(struct sl_sock *sk, void *arg)
{
	if (!sl_load(&sk->lsn) || !sl_tlisten_is_shared(sk) || !sl_lock(&sk->slow))
		return;
	if (sk->lsn)
		sk->lsn->others = true;
	if (sk->lsn) {
		(void)sl_tlisten_drain(sk, SL_REASON_FORKED);
		if (!sl_tlisten_to_kernel(sk))
			sl_tlisten_closing(sk);
	}
	sl_unlock(&sk->slow);
}

void sl_tlisten_exit(void)
{
	if (sl_tbox_count())
		sl_sock_for_each(leave_at_exit, NULL);
}

/* Accepting for children ------------------------------------------------------------------------
 */

static bool some_forked; /* the keeper is to look */

static bool has_id(struct sl_sock *sk, void *arg)
{
	const struct sl_tlisten *l = sk->proto == IPPROTO_TCP ? sl_load_acquire(&sk->lsn) : NULL;

	return l && l->id == *(const uint32_t *)arg;
}

static bool is_for_children(const struct sl_tlisten *l)
{
	uint32_t forked = sl_load(&l->forked);

	return forked >= FORKED_MIN && forked > sl_load(&l->accepted) / 2;
}

void sl_tlisten_forked(uint32_t id)
{
	struct sl_sock *sk = sl_sock_find(has_id, &id);
	struct sl_tlisten *l = sk ? sl_load_acquire(&sk->lsn) : NULL;

	if (!l)
		return;
	__atomic_fetch_add(&l->forked, 1, __ATOMIC_RELAXED);
	if (is_for_children(l))
		sl_store(&some_forked, true);
}

static void leave_to_kernel(struct sl_sock *sk, void *arg)
{
	struct sl_tlisten *l = sk->proto == IPPROTO_TCP ? sl_load_acquire(&sk->lsn) : NULL;

	if (!l || sl_tlisten_drains(l) || !is_for_children(l))
		return;
	sl_info("tcp", "fd %d: children serve what it accepts: it goes to the kernel", sk->fd);
	sl_sock_kernel_of(sk, l, SL_REASON_FORKED);
}

void sl_tlisten_look_forked(void)
{
	if (!sl_load(&some_forked))
		return;
	sl_store(&some_forked, false);
	sl_sock_for_each(leave_to_kernel, NULL);
}

/* Joining ---------------------------------------------------------------------------------------
 */

int sl_tlisten_backlog(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
	    info.tcpi_state != TCP_LISTEN)
		return -EINVAL;
	return (int)info.tcpi_sacked; /* tcp_get_info(): sk_max_ack_backlog */
}

/* slow held. */
static void join(struct sl_sock *sk)
{
	enum sl_reason reason;
	int backlog;

	if (sk->state != SL_STATE_KERNEL || !sk->nfds || sk->lsn)
		return;
	backlog = sl_tlisten_backlog(sk->fd);
	if (backlog < 0)
		return;
	sl_sock_show(sk);
	sl_store(&sk->state, SL_STATE_NEW);
	reason = sl_tlisten_start(sk, backlog);
	if (reason == SL_REASON_NONE) {
		sl_tbox_have_part(sk);
		sl_debug("tcp", "fd %d: an inherited listener has a part here", sk->fd);
		return;
	}
	sl_store(&sk->state, SL_STATE_KERNEL);
	sk->stats->state = SL_STATE_KERNEL;
	sk->stats->reason = reason;
	sk->heir = false; /* it would be so the next time */
	sl_info("tcp", "fd %d: an inherited listener stays with the kernel: %s", sk->fd,
		sl_reason_text(reason));
}

void sl_tlisten_join(struct sl_sock *sk)
{
	int flags = sl_sys_fcntl(sk->fd, F_GETFL, 0);

	if (sl_load(&sk->state) != SL_STATE_KERNEL || flags < 0 || !(flags & O_NONBLOCK) ||
	    is_hopeless(sk))
		return;
	if (sl_up_again() < 0) {
		sk->heir = false;
		return;
	}
	sk->nonblock = true;
	if (sk->passed)
		sl_keeper_share(sk);
	sl_lock(&sk->slow);
	join(sk);
	sl_unlock(&sk->slow);
}

static bool is_waited_for(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool waits;

	if (!sk->nonblock || !sl_sock_lock(sk, &lane))
		return false;
	waits = !sl_list_empty(&sk->watches);
	sl_lane_unlock(lane);
	return waits;
}

bool sl_tlisten_share(struct sl_sock *sk)
{
	bool shared = false;

	if (!is_waited_for(sk) || !sl_tlisten_is_shared(sk) || !sl_lock(&sk->slow))
		return false;
	if (sk->lsn && !sl_tlisten_drains(sk->lsn)) {
		sk->heir = true;
		sl_tlisten_leave(sk);
		sl_tbox_tell(sk);
		shared = sl_sock_claim_listener(sk) == SL_REASON_NONE;
		/* Claimed again: without this the next accept() would claim it twice. */
		if (shared && sk->lsn->state == SL_TLISTEN_AWAY)
			sl_tlisten_enter(sk->lsn, SL_TLISTEN_OPEN);
	}
	if (shared) {
		sl_tbox_have_part(sk);
		sl_tlisten_watch_box(sk);
		sl_debug("tcp", "fd %d: has a part beside children", sk->fd);
	}
	sl_unlock(&sk->slow);
	return shared;
}
