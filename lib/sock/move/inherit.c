/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that a parent accepts and a child serves (PostgreSQL, sshd), connections that a child
 * accepts from an inherited listener by the kernel's queue (Apache), and those that the kernel had
 * before the listener's device was open.
 *
 * Theory of operation: such a parent's listener goes to the kernel after a few connections
 * (listen/share.c), and so does what it accepts; connections that it had with us when it forked are
 * handed back when the child uses them. The child takes its connection over as one that was given
 * to it (given.c): only if no other process has it, so that a connection used by parent and child
 * stays the kernel's. A take-over needs the library started in the child, with a lease, a lane and
 * a thread, which costs more than a short connection could gain. So the child's calls with such
 * connections are counted first: it begins after CALLS_MIN calls, CONN_STEPS times STEP of them
 * with that connection. Connections of clients that ask one thing and go (pgbench -C) are not
 * moved, and a worker that serves only those does not start the library. During a take-over nothing
 * is received for 10 ms. So a call that sends does it: most peers then wait for the answer, and do
 * not have to retransmit data of their own.
 *
 * A connection that a worker has accepted itself has no other holder: no need to ask the broker.
 *
 * Connections that came before the device was open are few, and the library runs: the first send
 * after EARLY_STEPS times STEP calls takes one over, if the listener has its claims by then.
 *
 * Without the daemon a child can have no lane, and the kernel serves it without us. */
#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/stream/tconn.h"

#define CALLS_MIN      500
#define STEP           4
#define CONN_STEPS     120
#define CONN_STEPS_MAX 127 /* it does not send */
#define EARLY_STEPS    1

static uint32_t calls; /* of this process, before it has the library */
static bool confined;
static bool failed; /* it cannot have it */

bool sl_inherit_wants(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && sk->phase == SL_CONNECTED && !sk->lsn && !sk->heir &&
	       !confined && sl_settings.tcp && sl_may_start_again();
}

void sl_inherit_child(void)
{
	calls = 0;
	failed = false;
}

static void want(struct sl_sock *sk)
{
	bool own = sk->forks == sl_load(&sl_forks); /* no other process can have it */

	if (sk->stats == sl_stats_sock_none())
		sl_sock_show(sk);
	if (!own)
		sl_sock_want(sk);
	else if (sl_sock_take(sk, false) == -EBUSY) /* another thread is in the kernel with it */
		sl_store(&sk->given, SL_GIVEN_LATER);
}

static void forget(struct sl_sock *sk, void *arg)
{
	if (sl_given_is_later(sl_load(&sk->given)))
		sl_store(&sk->given, 0);
}

static void count(struct sl_sock *sk, uint8_t later)
{
	uint32_t n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);

	if (n % STEP == 0 && sl_given_is_later(later - 1))
		__atomic_compare_exchange_n(&sk->given, &later, later - 1, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

/* True: the kernel has it because the listener's device was not open yet, and the listener has its
 * claims now. */
static bool was_early(const struct sl_sock *sk)
{
	return sk->stats->reason == SL_REASON_NO_DEVICE && sl_load(&sl_late_listener_ns);
}

static bool is_worth_it(const struct sl_sock *sk, uint8_t later, bool sends)
{
	int steps = !sends ? CONN_STEPS_MAX : was_early(sk) ? EARLY_STEPS : CONN_STEPS;

	return later <= SL_GIVEN_LATER - steps && (sl_is_up() || sl_load(&calls) >= CALLS_MIN);
}

static void count_call(struct sl_sock *sk, bool sends)
{
	uint8_t later = sl_load(&sk->given);

	if (!sl_given_is_later(later) || sl_load(&sk->state) != SL_STATE_KERNEL ||
	    sl_load(&sk->passed))
		return;
	if (!sends)
		count(sk, later);
	if (!is_worth_it(sk, later, sends))
		return;
	if (sl_up_again() < 0) {
		sl_store(&failed, true);
		sl_sock_for_each(forget, NULL);
		return;
	}
	/* Only one of several threads may take it over. */
	if (__atomic_compare_exchange_n(&sk->given, &later, 0, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		want(sk);
}

void sl_inherit_used(struct sl_sock *sk, bool sends)
{
	if (sl_given_is_later(sl_load(&sk->given)))
		count_call(sk, sends);
	else if (!sends)
		sl_given_call(sk);
}

/* A kernel socket for a connection that was just accepted, so that no other process has it. */
static struct sl_sock *kernels(const struct sl_sock *listener, int fd, int flags,
			       enum sl_reason reason)
{
	struct sl_sock *sk = sl_sock_new(fd, listener->family, SOCK_STREAM | flags, IPPROTO_TCP);

	if (!sk)
		return NULL;
	sk->phase = SL_CONNECTED;
	sk->server = true;
	sk->stats->state = SL_STATE_KERNEL;
	sk->stats->reason = reason;
	sl_store(&sk->state, SL_STATE_KERNEL);
	return sk;
}

#define EARLY_NS 1000000000ull

/* True: the connection may have come to the kernel because the listener's device was not open yet.
 * (It may have waited in the kernel's queue since.) */
static bool came_early(const struct sl_sock *listener)
{
	uint64_t claimed_ns = sl_load(&sl_late_listener_ns);

	return sl_is_up() && !listener->heir && sl_load(&listener->lsn) &&
	       (listener->late || (claimed_ns && sl_now_ns() - claimed_ns < EARLY_NS));
}

void sl_inherit_accepted(const struct sl_sock *listener, int fd, int flags)
{
	enum sl_reason reason =
		!listener->heir && sl_is_up() ? sl_load(&listener->stats->reason) : SL_REASON_NONE;
	bool for_child = reason == SL_REASON_FORKED;
	struct sl_sock *sk;

	if (confined || sl_load(&failed))
		return;
	if (reason == SL_REASON_RULE) { /* which may go while it lasts */
		sk = kernels(listener, fd, flags, reason);
		if (sk && sl_load(&listener->given)) /* it has gone, and a call was in the way */
			sl_sock_want(sk);
		return;
	}
	if (came_early(listener)) {
		sk = kernels(listener, fd, flags, SL_REASON_NO_DEVICE);
		if (sk)
			sl_store(&sk->given, SL_GIVEN_LATER);
		return;
	}
	if ((!for_child && !listener->heir) || !sl_may_start_again())
		return;
	sk = kernels(listener, fd, flags, SL_REASON_FORKED);
	if (sk && !for_child)
		sl_store(&sk->given, SL_GIVEN_LATER);
}

/* Takes all numbers of the socket out of our table: they are the kernel's alone then. */
static void drop(struct sl_sock *sk)
{
	uint32_t end = sk->nfds > 1 ? sl_load(&sl_fdtab_end) : 0;

	sl_fdtab_clear(sk->fd);
	for (uint32_t fd = 0; fd < end; fd++)
		if (sl_fd_sock((int)fd) == sk)
			sl_fdtab_clear((int)fd);
	sl_store(&sk->nfds, 0);
}

/* Leaves the socket alone for good: a confined process may be killed for calls that it did not make
 * itself, also for those by which we ask its parent for a socket. */
static void leave_alone(struct sl_sock *sk, void *arg)
{
	bool passed = sl_load(&sk->passed);

	if (sk->proto != IPPROTO_TCP || (!passed && !sl_given_is_later(sl_load(&sk->given))))
		return;
	if (!sk->heir)
		sl_sock_part(sk);
	sl_store(&sk->given, 0);
	if (!sk->heir && sl_load(&sk->state) == SL_STATE_KERNEL)
		drop(sk);
}

static void fetch(struct sl_sock *sk, void *arg)
{
	if (sk->proto == IPPROTO_TCP && !sk->heir)
		sl_sock_part(sk);
}

SL_API
void sl_fetch(void)
{
	sl_fdtab_notice();
	sl_sock_for_each(fetch, NULL);
}

void sl_inherit_confine(void)
{
	if (confined)
		return;
	sl_store(&confined, true);
	sl_sock_for_each(leave_alone, NULL);
}

bool sl_inherit_is_confined(void)
{
	return sl_load(&confined);
}
