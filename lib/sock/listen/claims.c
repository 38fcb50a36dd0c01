/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of a listener: its endpoints', and those of connections that came by it. */
#include <linux/membarrier.h>

#include "base/heap.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sock/core/endpoint.h"
#include "sock/listen/listen.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"

#define TURNS     64 /* at most, to take what was steered here before the endpoint went */
#define KEYS_MORE 64

void sl_tlisten_claim_flow(struct sl_sock *sk, const struct sl_sock_claim *endpoints,
			   const struct sl_sock_claim *until, const struct sl_tcp_key *key,
			   uint32_t flags)
{
	for (const struct sl_sock_claim *c = endpoints; c != until; c = c->next) {
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

struct older {
	struct sl_sock *sk;
	bool left; /* some have no device, or their claims are on another one still */
};

static void claim_older(struct sl_tconn *c, void *arg)
{
	struct sl_lane *lane = sl_load(&c->lane);
	const struct sl_leg *leg, *claimed;
	struct older *o = arg;
	bool lives, older;

	if (c->lsn_id != o->sk->lsn->id || !sl_lane_lock(lane))
		return;
	lives = !c->dead && c->tcp.state != SL_TCP_CLOSED;
	leg = lives ? sl_tconn_leg(c) : NULL;
	claimed = sl_load(&c->claimed);
	older = leg && c->tcp.born_us * 1000 < sl_load(&leg->port->opened_ns);
	sl_lane_unlock(lane);
	if (lives && (!leg || (claimed && claimed != leg)))
		o->left = true;
	else if (older && !claimed)
		sl_tconn_claim_own(c, c->lsn_id, o->sk->fd);
}

bool sl_tlisten_claim_older(struct sl_sock *sk)
{
	struct older o = {.sk = sk};

	if (!sk->reuseport)
		return true;
	if (!sl_trylock(&sk->slow))
		return false;
	if (sk->lsn)
		sl_tconn_for_each(claim_older, &o);
	sl_unlock(&sk->slow);
	return !o.left;
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
		sl_tlisten_claim_flow(sk, endpoints, NULL, &keys[i], 0);
	sl_free(keys);
}

/* Claims take the endpoint's place ---------------------------------------------------------------
 */

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

bool sl_tlisten_take_late(struct sl_sock *sk)
{
	if (!sk->reuseport)
		return true;
	if (!sl_trylock(&sk->slow))
		return false;
	if (sk->lsn)
		take_steered(sk);
	sl_unlock(&sk->slow);
	return true;
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
