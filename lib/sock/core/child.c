/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets of a parent in its child after fork. */
#include <string.h>

#include "base/sys.h"
#include "sock/core/errq.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"
#include "sock/core/sock_ops.h"
#include "sock/core/extra.h"
#include "sock/core/udp_sock.h"

static void child_udp(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	us->members = NULL;
	us->udp.ring = NULL; /* the frames are the parent's; the memory is lost with it */
	us->udp.size = us->udp.deepest = us->udp.head = us->udp.tail = 0;
	us->path.d = NULL;
	us->ruled = us->lent = us->lent_try = false;
	us->pacer = NULL;
	us->rule_pace = (struct sl_pace_ask){0};
}

/* A stream that is the kernel's already has nothing from us in a child, which may be confined to
 * the very calls that it makes (sshd's, by seccomp: no sendmsg(2) for a write). */
static bool is_kernels_alone(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && sk->state == SL_STATE_KERNEL && !sk->passed &&
	       !sk->heir && sk->nfds == 1;
}

static void child_sock(struct sl_sock *sk, void *arg)
{
	const struct sl_sock_ops *ops = sl_sock_ops(sk);
	bool later = ops->child && ops->child(sk);

	sk->sleepers = 0;                      /* the parent's threads */
	if (sl_sock_stays(sk) || sk->parked) { /* the parent's alone */
		sl_sys_close(sk->fd);
		sk->parked = sk->awaited = false;
		sk->nfds = 0;
		return;
	}
	if (is_kernels_alone(sk) && !later) {
		sl_fdtab_clear(sk->fd);
		sk->nfds = 0;
		return;
	}
	sk->given = later ? SL_GIVEN_LATER : 0;
	if (!sk->passed && (sl_sock_is_apart(sk) || sl_sock_queued(sk)))
		sk->passed = sl_keeper_generation();
	if (sk->state == SL_STATE_NEW)
		sk->error = 0; /* the parent leaves it in the kernel's socket */
	sk->state = SL_STATE_KERNEL;
	sk->stats = sl_stats_sock_none(); /* the parent's memory is not there any more */
	sk->slot = SL_NO_SLOT;
	sk->claims = NULL;
	sk->conn = NULL;
	sk->lsn = NULL;
	sk->lane = &sl_limbo;
	if (sl_sock_is_udp(sk))
		child_udp(sk);
	sl_errq_child(sk);
	memset(&sk->slow, 0, sizeof(sk->slow));
	sl_list_init(&sk->watches);
	sk->in_kernel = 0;
	sk->taking = false;
}

/* In a child after fork: its descriptors are plain kernel sockets. Offloaded ones are the
 * parent's; the first use tells it to hand them back (sl_keeper_tell_parent). */
void sl_sock_child(void)
{
	sl_sock_for_each(child_sock, NULL);
	sl_sock_table_renew();
}
