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
#include <linux/membarrier.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "sock/stream/tconn.h"

#define TURNS     64 /* at most, to take what was steered here before the endpoint went */
#define IDLE_MAX  10 /* looks at a queue without accept(), when another process may accept */
#define KEYS_MORE 64

static uint32_t draining; /* listeners */

uint32_t sl_tlisten_draining(void)
{
	return sl_load(&draining);
}

void sl_tlisten_drain_child(void)
{
	draining = 0;
}

/* Claims ----------------------------------------------------------------------------------------
 */

void sl_tlisten_claim_flow(struct sl_sock *sk, const struct sl_sock_claim *endpoints,
			   const struct sl_tcp_key *key, uint32_t flags)
{
	for (const struct sl_sock_claim *c = endpoints; c; c = c->next) {
		struct sl_claim_req req = c->req;
		struct sl_addr local = sl_addr_of(req.key.local);

		if (req.key.remote_port || sl_addr_is_v4(&key->local) != sl_addr_is_v4(&local))
			continue;
		memcpy(req.key.local, key->local.b, 16);
		memcpy(req.key.remote, key->remote.b, 16);
		req.key.remote_port = key->rport;
		req.claim.flags = flags;
		req.spread = false;
		req.replace = true;
		sl_sock_add_claim(sk, &req, NULL);
	}
}

static void claim_child(struct sl_tconn *c, void *arg)
{
	const struct sl_sock *sk = arg;

	if (c->lsn_id == sk->lsn->id)
		sl_tconn_claim_own(c, c->lsn_id, sk->fd);
}

void sl_tlisten_claim_children(struct sl_sock *sk)
{
	sl_tconn_for_each(claim_child, sk);
}

/* The flows of handshakes: those that were held back, or the others. */
static void claim_requests(struct sl_sock *sk, const struct sl_sock_claim *endpoints, bool held)
{
	struct sl_tcp_listener *l = &sk->lsn->tcp;
	uint32_t n = 0, max = sl_load(&l->nrequests) + KEYS_MORE;
	struct sl_tcp_key *keys = sl_malloc(max * sizeof(*keys));
	struct sl_lane *lane;

	if (!keys || !sl_sock_lock(sk, &lane)) {
		sl_free(keys);
		return;
	}
	n = sl_tcp_listener_keys(l, held, keys, max);
	sl_lane_unlock(lane);
	for (uint32_t i = 0; i < n; i++)
		sl_tlisten_claim_flow(sk, endpoints, &keys[i], 0);
	sl_free(keys);
}

/* Steps ---------------------------------------------------------------------------------------- */

static void hold(struct sl_sock *sk, bool on)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sl_lane_tcp_begin(lane);
	sl_tcp_listener_hold(lane->tcp, &sk->lsn->tcp, on);
	sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
}

/* The driver may have looked the endpoint up and not have handed the packet over: synchronize_rcu()
 * waits for its poll to end. Then the rings have everything. */
static void take_steered(struct sl_sock *sk)
{
	struct sl_lane *lane;
	unsigned i = 0;

	(void)sl_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	if (!sl_sock_lock(sk, &lane))
		return;
	while (i++ < TURNS && sl_lane_turn_locked(lane) > 0)
		;
	sl_lane_unlock(lane);
}

void sl_tlisten_leave(struct sl_sock *sk)
{
	struct sl_sock_claim *endpoints = sl_sock_endpoints_take(sk);

	hold(sk, true);
	claim_requests(sk, endpoints, false);
	sl_tlisten_claim_children(sk);
	for (const struct sl_sock_claim *c = endpoints; c; c = c->next)
		sl_broker_unclaim(&c->req);
	take_steered(sk);
	claim_requests(sk, endpoints, true);
	sl_tlisten_claim_children(sk);
	hold(sk, false);
	while (endpoints) {
		struct sl_sock_claim *c = endpoints;

		endpoints = c->next;
		sl_free(c);
	}
}

static void begin(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_tlisten *l = sk->lsn;

	l->reason = reason;
	sk->stats->reason = reason; /* read after accept() from the kernel (inherit.c) */
	l->draining = true;
	__atomic_fetch_add(&draining, 1, __ATOMIC_RELAXED);
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

bool sl_tlisten_to_kernel(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_tlisten *l = sk->lsn;

	if (!l->draining)
		begin(sk, reason);
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

void sl_tlisten_drained(struct sl_tlisten *l)
{
	if (l->draining)
		__atomic_fetch_sub(&draining, 1, __ATOMIC_RELAXED);
}
