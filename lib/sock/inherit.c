/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that a parent accepted and a child serves, as PostgreSQL's and sshd's do.
 *
 * Theory of operation: such a parent's listener is the kernel's after a few (tcp_share.c), so is
 * what it accepts; what it had of ours when it forked goes to the kernel when the child uses it.
 * The child takes its connection over as one that was given to it (given.c): when nobody else has
 * it, so that one that parent and child use both stays the kernel's. That needs the library in the
 * child, a lease, a lane and a thread, which costs more than a short connection could gain. So the
 * child's calls with such connections are counted first, and it begins when there were
 * CALLS_MIN: of a client that asks one thing and goes (pgbench -C) nothing is moved.
 *
 * Without the daemon a child can have no lane, and the kernel serves it without us. */
#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/settings.h"
#include "sluice.h"
#include "sock/sock.h"
#include "sock/tconn.h"

#define CALLS_MIN 500

static uint32_t calls; /* of this process, before it has the library */
static bool confined;

bool sl_inherit_wants(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && sk->phase == SL_CONNECTED && !sk->lsn && !sk->heir &&
	       !confined && sl_settings.tcp && sl_may_start_again();
}

void sl_inherit_child(void)
{
	calls = 0;
}

static void want(struct sl_sock *sk)
{
	sl_sock_show(sk);
	sl_sock_want(sk);
}

static void forget(struct sl_sock *sk, void *arg)
{
	if (sl_load(&sk->given) == SL_GIVEN_LATER)
		sl_store(&sk->given, 0);
}

void sl_inherit_call(struct sl_sock *sk)
{
	uint8_t later = SL_GIVEN_LATER;

	if (sl_load(&sk->state) != SL_STATE_KERNEL || sl_load(&sk->passed))
		return;
	if (!sl_is_up()) {
		if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) < CALLS_MIN)
			return;
		if (sl_start() < 0) {
			sl_sock_for_each(forget, NULL);
			return;
		}
	}
	if (__atomic_compare_exchange_n(&sk->given, &later, 0, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		want(sk);
}

void sl_inherit_accepted(const struct sl_sock *listener, int fd, int flags)
{
	struct sl_sock *sk;

	if (listener->heir || sl_load(&listener->stats->reason) != SL_REASON_FORKED ||
	    !sl_is_up() || !sl_may_start_again())
		return;
	sk = sl_sock_new(fd, listener->family, SOCK_STREAM | flags, IPPROTO_TCP);
	if (!sk)
		return;
	sk->phase = SL_CONNECTED;
	sk->server = true;
	sk->stats->state = SL_STATE_KERNEL;
	sk->stats->reason = SL_REASON_FORKED;
	sl_store(&sk->state, SL_STATE_KERNEL);
}

/* Every number of it is the kernel's alone. */
static void drop(struct sl_sock *sk)
{
	uint32_t end = sk->nfds > 1 ? sl_load(&sl_fdtab_size) : 0;

	sl_fdtab_clear(sk->fd);
	for (uint32_t fd = 0; fd < end; fd++)
		if (sl_fd_sock((int)fd) == sk)
			sl_fdtab_clear((int)fd);
	sl_store(&sk->nfds, 0);
}

/* A confined process is killed for calls that it did not make itself, those included by which a
 * parent is asked for what it has. */
static void leave_alone(struct sl_sock *sk, void *arg)
{
	bool passed = sl_load(&sk->passed);

	if (sk->proto != IPPROTO_TCP || (!passed && sl_load(&sk->given) != SL_GIVEN_LATER))
		return;
	if (!sk->heir)
		sl_sock_part(sk);
	sl_store(&sk->given, 0);
	if (!sk->heir && sl_load(&sk->state) == SL_STATE_KERNEL)
		drop(sk);
}

SL_API
void sl_confine(void)
{
	if (confined)
		return;
	sl_store(&confined, true);
	sl_sock_for_each(leave_alone, NULL);
}
