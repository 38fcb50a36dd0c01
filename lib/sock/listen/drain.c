/* SPDX-License-Identifier: BSD-2-Clause */
/* A listener goes to the kernel, without a reset for connections that have begun with us.
 *
 * Theory of operation: the kernel's socket listens already, so what has to go is the endpoint's
 * claim; from then on the kernel has new connections. It knows neither connections that wait for
 * accept() here nor handshakes under way, and would reset them: so before the endpoint's claim goes
 * each of them gets a claim of its own, the handshakes' for the slot of the listener. SYNs that
 * come meanwhile are held, and answered when their flows are claimed, too. Then the listener
 * drains: it stays ours, and accept(2) gives ours before the kernel's, until none is left. The
 * keeper looks every second. */
#include "base/log.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sock/core/life.h"
#include "sock/listen/listen.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"

#define IDLE_MAX 10 /* looks at a queue without accept(), when another process may accept */

static void begin(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_tlisten *l = sk->lsn;

	l->reason = reason;
	sk->stats->reason = reason; /* read after accept() from the kernel (inherit.c) */
	sl_tlisten_enter(l, SL_TLISTEN_DRAINING);
	sl_tlisten_leave(sk);
	sl_debug("tcp", "fd %d: new connections are the kernel's (%s), %u wait and %u open here",
		 sk->fd, sl_reason_text(reason), l->tcp.nchildren, l->tcp.nrequests);
}

/* A rule leaves the socket to this process alone. Otherwise another one may have it, and this one
 * perhaps never looks again: a peer that is reset knows at least. */
static bool is_patient(struct sl_tlisten *l)
{
	uint32_t n = sl_load(&l->tcp.nchildren);

	if (l->reason == SL_REASON_RULE || !n || n != l->last_children)
		l->looks = 0;
	l->last_children = n;
	return l->looks < IDLE_MAX;
}

bool sl_tlisten_drain(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_tlisten *l = sk->lsn;

	if (l->ended) /* nobody accepts any more */
		return false;
	if (!sl_tlisten_drains(l))
		begin(sk, reason);
	return true;
}

bool sl_tlisten_to_kernel(struct sl_sock *sk)
{
	struct sl_tlisten *l = sk->lsn;

	if (l->ended) {
		sl_tlisten_stop(sk);
		return true;
	}
	sl_tlisten_give(sk);
	if ((sl_load(&l->tcp.nchildren) || sl_load(&l->tcp.nrequests)) && is_patient(l))
		return false;
	sl_tlisten_stop(sk);
	return true;
}

void sl_tlisten_look(struct sl_sock *sk, struct sl_tlisten *l)
{
	l->looks++;
	sl_sock_kernel_of(sk, l, l->reason);
}
