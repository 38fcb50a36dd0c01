/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram sockets that another program has, too.
 *
 * Theory of operation: a program that a child executes has its descriptors from the kernel alone,
 * and nothing tells whether it will use a socket that it inherits: most programs do not. So the
 * socket is lent: what has come moves to the kernel's queue, which both programs read from then on,
 * as they would without the library. At first the claims stay, and the keeper moves what comes
 * (*relays* it), since packets that reach the kernel while the claims go would be before those that
 * are on the ring then. The claims go when no packet has come for a while. If some come just then,
 * and this process's calls take what comes, the calls read the *rest*, which is on the ring, before
 * what the kernel has; it moves only when no call takes it. From then on the socket is ours without
 * claims, so that no thread of this process sleeps in the kernel with it, and it
 * can come back.
 *
 * A move costs a system call for each datagram. So while this process reads the socket, its calls
 * take what comes as ever, after what has moved (recv.c), and the keeper relays only what no call
 * has taken between two of its looks. No more moves than the kernel's queue has room for: the rest
 * waits here.
 *
 * The keeper asks how many have the file (steer/holders.c), ever more seldom, and the socket comes
 * back when this process has it alone. A thread that sleeps in a receiving call counts as one more,
 * so the keeper wakes it and its call asks, too. Where the kernel does not tell (before 6.1) the
 * socket stays lent. */
#include <errno.h>
#include <linux/sock_diag.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "net/rtnl.h"
#include "sock/core/endpoint.h"
#include "sock/core/extra.h"
#include "sock/core/life.h"
#include "sock/core/ready.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/proc/up.h"

#define FIRST_NS 2000000ull
#define LAST_NS  32000000000ull
#define AGAIN_NS 32000000ull /* at most, after one more program has been started */
#define RELAY_NS 500000ull   /* how often the keeper moves what has come */
/* The claims stay for so long after a program has been started: most have ended by then. */
#define STARTED_NS 100000000ull
/* The time without a packet after which the claims go. If no call takes what comes, it is less when
 * the socket is busy for long, and at last they go in any case. */
#define QUIET_NS      20000000ull
#define BUSY_NS       1000000000ull
#define QUIET_BUSY_NS 5000000ull
#define STORM_NS      3000000000ull
/* Looks at which a datagram of the one before was still there: no call takes what comes, or not all
 * of it. */
#define STALE 8

/* After that time without a call the rest moves. */
#define REST_NS 200000000ull

#define PART      8u    /* datagrams that move while the lane is held */
#define SKB_BYTES 1280u /* most that the kernel counts for a datagram beside its bytes */

static struct sl_lock lock; /* protects what follows */
static uint64_t next_ns;    /* when the keeper looks again; 0: nothing is lent */
static uint64_t delay_ns;
static uint64_t relay_ns; /* the keeper's: when it relays next; 0: there is nothing to relay */
static uint32_t starting; /* programs; atomic */

static void look_in(uint64_t ns)
{
	if (!sl_lock(&lock))
		return;
	delay_ns = ns;
	sl_store(&next_ns, sl_now_ns() + ns);
	sl_unlock(&lock);
}

/* Lending ---------------------------------------------------------------------------------------
 */

/* Multicast cannot be moved, and without permission nothing can: what has come is read here then.
 */
static bool may_relay(const struct sl_udp_sock *us)
{
	return !us->members && !sl_broker_may_inject();
}

/* Bytes that fit in the kernel's queue, by a call for each move. An empty queue has room for one,
 * however long it is. */
static uint32_t kernels_room(const struct sl_sock *sk)
{
	uint32_t all[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(all);

	if (sl_sys_getsockopt(sk->fd, SOL_SOCKET, SO_MEMINFO, all, &len) < 0)
		return UINT32_MAX;
	if (all[SK_MEMINFO_RMEM_ALLOC] >= all[SK_MEMINFO_RCVBUF])
		return 0;
	return sl_max(all[SK_MEMINFO_RCVBUF] - all[SK_MEMINFO_RMEM_ALLOC],
		      all[SK_MEMINFO_RMEM_ALLOC] ? 0 : SL_INJECT_MAX + SKB_BYTES);
}

/* How many of the queue have room in the kernel's, at most PART. Lane held. */
static uint32_t fitting(const struct sl_sock *sk, const struct sl_udp *u)
{
	uint32_t room = sl_udp_queued(u) ? kernels_room(sk) : 0, n = 0;
	const struct sl_dgram *d;

	while (n < PART && (d = sl_udp_peek_at(u, n)) && d->len + SKB_BYTES <= room) {
		room -= d->len + SKB_BYTES;
		n++;
	}
	return n;
}

/* Moves what has come until now, and has room. True: nothing of it is left. */
static bool move(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	const struct sl_udp *u = &us->udp;
	uint32_t n = 1, end = u->tail;
	bool left = true, first = true;
	struct sl_lane *lane;

	/* (The lane is free between two parts: packets wait on its ring meanwhile.) */
	while (n && left && sl_sock_lock(sk, &lane)) {
		sl_lane_turn_locked(lane);
		if (first)
			end = u->tail;
		first = false;
		n = fitting(sk, u);
		if (n || sl_extra_queued(sk) != sl_udp_queued(u))
			sl_sock_requeue_some(sk, lane, n);
		left = (int32_t)(end - u->head) > 0;
		sl_lane_unlock(lane);
	}
	return !left;
}

/* True: the calls of this process take what comes, and have read all that has moved. */
static bool calls_take(const struct sl_udp_sock *us)
{
	return us->lent_stale < STALE && sl_load(&us->lent_seen) == sl_load(&us->lent_moves);
}

/* Ends the claims and leaves the rest to the calls (from_rest() in recv.c). slow held. */
static bool end_before_rest(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *lane;
	bool rest = false, ended;

	sl_store_release(&us->lent_rest, SL_REST_COMES);
	ended = sl_sock_pause(sk, SL_REASON_PASSED);
	if (ended && sl_sock_lock(sk, &lane)) {
		sl_lane_turn_locked(lane);
		rest = sl_udp_queued(&us->udp);
		sl_lane_unlock(lane);
	}
	us->relayed_ns = sl_now_ns();
	sl_store_release(&us->lent_rest, rest ? SL_REST_LEFT : SL_REST_NONE);
	return ended;
}

/* slow held. False: the lane is not to be had, or what waits has no room in the kernel. */
static bool end_claims(struct sl_sock *sk)
{
	bool keeps = sl_udp_sk(sk)->lent_keeps;

	if (!keeps && calls_take(sl_udp_sk(sk)))
		return end_before_rest(sk);
	if (!keeps && !move(sk))
		return false;
	if (!keeps)
		sl_sock_move_early(sk);
	if (!sl_sock_pause(sk, SL_REASON_PASSED))
		return false;
	if (!keeps)
		(void)sl_sock_move_queue(sk); /* what came before the claims went */
	return true;
}

static void lend_again(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint64_t now_ns = sl_now_ns();

	sl_store(&us->lent_ns, now_ns);
	if (sl_load(&next_ns) > now_ns + AGAIN_NS)
		look_in(AGAIN_NS);
	/* (Calls that take datagrams just now go on with it.) */
	if (!us->lent_keeps && !sl_sock_is_ruled(sk) && !sl_load(&us->lent_called))
		(void)move(sk);
}

/* slow held. */
static bool lend(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	if (!sk->nfds || sl_load(&sk->state) != SL_STATE_OFFLOADED)
		return false;
	if (sl_load(&us->lent)) {
		lend_again(sk);
		return true;
	}
	us->lent_keeps = !may_relay(us);
	if (us->lent_keeps && !sl_sock_is_ruled(sk) && !end_claims(sk))
		return false;
	us->lent_ns = us->relayed_ns = sl_now_ns();
	us->lent_stale = 0;
	us->lent_called = false;
	us->lent_rest = SL_REST_NONE;
	us->lent_tail = sl_load(&us->udp.tail);
	sl_store(&us->lent_seen, sl_load(&us->lent_moves) - 1);
	sl_store_release(&us->lent, true);
	if (!us->lent_keeps)
		(void)move(sk);
	return true;
}

static bool lend_now(struct sl_sock *sk)
{
	bool lent;

	if (!sl_lock(&sk->slow))
		return false;
	lent = lend(sk);
	sl_unlock(&sk->slow);
	return lent;
}

static void yield(struct sl_sock *sk)
{
	sl_siblings_yield(sk);
	sl_mcast_recheck();
}

bool sl_sock_lend(struct sl_sock *sk)
{
	/* (A child may say so as often as it likes.) */
	if (sl_sock_is_lent(sk) && sl_load(&sk->state) == SL_STATE_OFFLOADED) {
		lend_again(sk);
		return true;
	}
	if (!sl_sock_is_udp(sk) || !SL_ROOMY(lend_now, sk))
		return false;
	if (sl_sock_is_ruled(sk))
		yield(sk);
	look_in(FIRST_NS);
	sl_store(&relay_ns, 1);
	sl_rtnl_wake();
	return true;
}

void sl_lent_hold(void)
{
	__atomic_fetch_add(&starting, 1, __ATOMIC_SEQ_CST);
}

void sl_lent_release(void)
{
	__atomic_fetch_sub(&starting, 1, __ATOMIC_SEQ_CST);
}

/* Relaying --------------------------------------------------------------------------------------
 */

static bool is_quiet(const struct sl_udp_sock *us, uint64_t now_ns)
{
	uint64_t came_ns = now_ns - us->relayed_ns, lent_ns = now_ns - sl_load(&us->lent_ns);

	if ((int64_t)lent_ns < (int64_t)STARTED_NS)
		return false;
	if (us->lent_stale < STALE || lent_ns < BUSY_NS)
		return came_ns >= QUIET_NS;
	return came_ns >= QUIET_BUSY_NS || lent_ns >= STORM_NS;
}

/* Calls that have left datagrams for some looks leave them to the other program. If there was no
 * call at all, so is what comes, until there is one. True: what is here is to move. */
static bool is_left(struct sl_sock *sk, struct sl_udp_sock *us)
{
	bool called = __atomic_exchange_n(&us->lent_called, false, __ATOMIC_RELAXED), left;
	const struct sl_udp *u = &us->udp;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return false;
	sl_lane_turn_locked(lane);
	if (u->tail != us->lent_tail)
		us->relayed_ns = sl_now_ns();
	if (called && us->lent_stale == STALE)
		us->lent_stale = 0;
	if ((int32_t)(us->lent_tail - u->head) > 0)
		us->lent_stale = sl_min(us->lent_stale + 1, STALE);
	else if (called)
		us->lent_stale = 0;
	us->lent_tail = u->tail;
	left = us->lent_stale == STALE && u->head != u->tail;
	sl_lane_unlock(lane);
	return left;
}

/* After the claims have gone: moves datagrams that had no room, or that no call takes. True: the
 * keeper must look again. */
static bool relay_rest(struct sl_sock *sk, struct sl_udp_sock *us)
{
	uint64_t now_ns = sl_now_ns();

	if (sl_load(&us->lent_rest)) {
		if (__atomic_exchange_n(&us->lent_called, false, __ATOMIC_RELAXED))
			us->relayed_ns = now_ns;
		if (sl_udp_queued(&us->udp) && now_ns - us->relayed_ns < REST_NS)
			return true;
		sl_store(&us->lent_rest, SL_REST_NONE);
	}
	(void)move(sk);
	return false;
}

static void relay(struct sl_sock *sk, void *arg)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	bool *left = arg, ended = false;

	if (!sl_sock_is_lent(sk) || us->lent_keeps || sl_load(&sk->state) != SL_STATE_OFFLOADED)
		return;
	if (sl_sock_is_ruled(sk)) {
		*left |= relay_rest(sk, us);
		return;
	}
	if (is_left(sk, us))
		(void)move(sk);
	if (is_quiet(us, sl_now_ns()) && sl_trylock(&sk->slow)) {
		if (sk->nfds && sl_load(&us->lent) && sl_load(&sk->state) == SL_STATE_OFFLOADED)
			ended = SL_ROOMY(end_claims, sk);
		sl_unlock(&sk->slow);
	}
	if (ended)
		yield(sk);
	*left |= !ended || sl_load(&us->lent_rest);
}

static void relay_all(uint64_t now_ns)
{
	bool left = false;

	sl_store(&relay_ns, 0);
	sl_sock_for_each(relay, &left);
	if (left)
		sl_store(&relay_ns, now_ns + RELAY_NS);
}

/* Coming back -----------------------------------------------------------------------------------
 */

/* True: the other program has bound or connected it. slow held. */
static bool has_new_names(struct sl_sock *sk)
{
	const struct sl_udp *u = &sl_udp_sk(sk)->udp;
	struct sl_addr local = sk->local, remote = u->remote;
	uint16_t port = sk->local_port, remote_port = u->remote_port;
	bool connected = u->connected;

	return sl_sock_read_names(sk) < 0 || port != sk->local_port || connected != u->connected ||
	       memcmp(&local, &sk->local, sizeof(local)) ||
	       (connected &&
		(remote_port != u->remote_port || memcmp(&remote, &u->remote, sizeof(remote))));
}

/* slow and the lock of forks are held, so that no other process gets the socket meanwhile. 0, or
 * -errno: it stays lent; -EBUSY: another process has it, or a thread that sleeps. */
static int resume(struct sl_sock *sk, enum sl_reason *reason)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	int n;

	if (!sk->nfds || !sl_load(&us->lent))
		return 0;
	if (sl_load(&sk->state) != SL_STATE_OFFLOADED) {
		sl_store(&us->lent, false);
		return 0;
	}
	if (__atomic_load_n(&starting, __ATOMIC_SEQ_CST))
		return -EBUSY;
	n = sl_broker_holders(sk->fd);
	if (n < 0 || n > (int)sk->nfds)
		return n < 0 ? n : -EBUSY;
	if (sl_load(&us->lent_rest) && sl_udp_queued(&us->udp))
		return -EBUSY; /* what is here is older than what the kernel has */
	if (!us->lent_keeps)
		us->os_first = true; /* what has moved is older than what is here */
	else if (sl_udp_queued(&us->udp))
		return -EBUSY; /* what is here is older than what the kernel has */
	sl_store(&us->lent, false);
	sk->forks = sl_load(&sl_forks);
	if (!sl_dgram_opts_again(sk)) /* the other program may have set some */
		*reason = SL_REASON_OPTION;
	else if (sl_sock_is_ruled(sk) || has_new_names(sk))
		*reason = sl_sock_resume(sk);
	return 0;
}

static int come_back(struct sl_sock *sk)
{
	enum sl_reason reason = SL_REASON_NONE;
	int err = -EBUSY;

	if (!sl_fork_hold())
		return err;
	if (sl_trylock(&sk->slow)) {
		err = resume(sk, &reason);
		sl_unlock(&sk->slow);
	}
	sl_fork_release();
	sl_sock_obey(sk, reason);
	return err;
}

void sl_lent_call(struct sl_sock *sk)
{
	if (__atomic_exchange_n(&sl_udp_sk(sk)->lent_try, false, __ATOMIC_RELAXED))
		(void)SL_ROOMY(come_back, sk);
}

static void wake_callers(struct sl_sock *sk)
{
	struct sl_lane *lane;

	sl_store(&sl_udp_sk(sk)->lent_try, true);
	if (!sl_sock_lock(sk, &lane))
		return;
	sl_sock_notify(sk, 0);
	sl_lane_unlock(lane);
}

static void look_at_lent(struct sl_sock *sk, void *arg)
{
	bool *left = arg;
	int err;

	if (!sl_sock_is_lent(sk))
		return;
	err = SL_ROOMY(come_back, sk);
	if (err == -EBUSY) {
		wake_callers(sk);
		*left = true;
	} else if (err) {
		sl_debug("sock", "fd %d stays with the kernel: %s", sk->fd, strerrorname_np(-err));
	}
}

uint64_t sl_lent_due_ns(uint64_t now_ns, bool quiet)
{
	uint64_t next = sl_load(&next_ns), relay = sl_load(&relay_ns);

	return next && relay ? sl_min(next, relay) : next | relay;
}

void sl_lent_look(uint64_t now_ns)
{
	uint64_t delay;
	bool left = false;

	if (sl_unlikely(sl_load(&relay_ns)) && now_ns >= sl_load(&relay_ns))
		relay_all(now_ns);
	if (!sl_load(&next_ns) || now_ns < sl_load(&next_ns) || !sl_lock(&lock))
		return;
	delay = sl_min(2 * delay_ns, LAST_NS);
	sl_store(&next_ns, 0);
	sl_unlock(&lock);
	sl_sock_for_each(look_at_lent, &left);
	if (left && !sl_load(&next_ns))
		look_in(delay);
}

void sl_lent_child(void)
{
	memset(&lock, 0, sizeof(lock));
	next_ns = relay_ns = 0;
	starting = 0;
}
