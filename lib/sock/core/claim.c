/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of a socket: what the steering program brings it. */

#include "base/heap.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/restart.h"

static struct sl_lock claims_lock; /* every socket's list of claims; taken after its slow lock */
static uint64_t births;

/* When several sockets share an endpoint by SO_REUSEADDR, the kernel gives a datagram to the socket
 * bound last (udp4_lib_lookup2: the first of equals in the list), but prefers an IPv4 socket for an
 * IPv4 datagram (compute_score()). When that socket leaves, its heir is the one bound before it. */
struct heir {
	const struct sl_sock *leaving;
	const struct sl_claim_req *key;
	struct sl_sock_claim *claim;
	uint64_t born;
	uint8_t family;
};

static void look_for_heir(struct sl_sock *sk, void *arg)
{
	struct heir *h = arg;

	if (sk == h->leaving || sl_load(&sk->state) != SL_STATE_OFFLOADED ||
	    (h->claim && h->family == AF_INET && sk->family != AF_INET))
		return;
	for (struct sl_sock_claim *c = sk->claims; c; c = c->next)
		if ((c->born >= h->born || sk->family != h->family) &&
		    c->req.ifindex == h->key->ifindex &&
		    memcmp(&c->req.narrow, &h->key->narrow, sizeof(c->req.narrow)) == 0 &&
		    memcmp(&c->req.key, &h->key->key, sizeof(c->req.key)) == 0) {
			h->born = c->born;
			h->family = sk->family;
			h->claim = c;
		}
}

/* True: this IPv6 socket claims the endpoint of an IPv4 socket, so it is only that one's heir.
 * (Among sockets with a peer the last one has the endpoint; the broker counts those replaced.) */
static bool comes_second(struct sl_sock *sk, const struct sl_claim_req *req)
{
	struct heir h = {.leaving = sk, .key = req};

	if (sk->family != AF_INET6 || !req->replace || req->key.remote_port)
		return false;
	sl_lock(&claims_lock);
	sl_sock_for_each(look_for_heir, &h);
	sl_unlock(&claims_lock);
	return h.claim && h.family == AF_INET;
}

bool sl_sock_add_claim(struct sl_sock *sk, const struct sl_claim_req *req, const char **why)
{
	struct sl_sock_claim *c = sl_malloc(sizeof(*c));

	if (!c)
		return false;
	c->req = *req;
	if (!comes_second(sk, req) && sl_broker_claim(&c->req, why) < 0) {
		sl_free(c);
		return false;
	}
	sl_lock(&claims_lock);
	c->born = ++births;
	c->next = sk->claims;
	sk->claims = c;
	sl_unlock(&claims_lock);
	return true;
}

static void unclaim(struct sl_sock *sk, const struct sl_claim_req *req)
{
	struct heir h = {.leaving = sk, .key = req};

	sl_broker_unclaim(req);
	if (!req->replace || req->key.proto == IPPROTO_TCP)
		return;
	sl_sock_for_each(look_for_heir, &h);
	if (h.claim)
		sl_broker_claim(&h.claim->req, NULL);
}

void sl_claims_child(void)
{
	memset(&claims_lock, 0, sizeof(claims_lock));
}

static void end_claims(struct sl_sock *sk, void *arg)
{
	uint32_t ifindex = *(const uint32_t *)arg;

	if (!sk->claims || !sl_lock(&sk->slow))
		return;
	sl_lock(&claims_lock);
	for (struct sl_sock_claim **at = &sk->claims; *at;) {
		struct sl_sock_claim *c = *at;

		if (c->req.ifindex != ifindex) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		sl_broker_unclaim(&c->req); /* (a daemon may go on with the device for others) */
		sl_free(c);
	}
	sl_unlock(&claims_lock);
	sl_unlock(&sk->slow);
}

void sl_sock_claims_end(uint32_t ifindex)
{
	sl_sock_for_each(end_claims, &ifindex);
}

bool sl_sock_claims_live(const struct sl_sock *sk)
{
	const struct sl_port *p;
	bool live = false;

	sl_lock(&claims_lock);
	for (const struct sl_sock_claim *c = sk->claims; c && !live; c = c->next) {
		p = sl_port_find(c->req.ifindex);
		live = p && sl_load(&p->stats->alive);
	}
	sl_unlock(&claims_lock);
	return live;
}

struct sl_port *sl_sock_without_link(const struct sl_sock *sk)
{
	struct sl_port *p, *found = NULL;

	sl_lock(&claims_lock);
	for (const struct sl_sock_claim *c = sk->claims; c && !found; c = c->next) {
		p = sl_port_find(c->req.ifindex);
		if (p && sl_port_cost_link(p))
			found = p;
	}
	sl_unlock(&claims_lock);
	return found;
}

void sl_sock_unclaim(struct sl_sock *sk)
{
	sl_lock(&claims_lock);
	while (sk->claims) {
		struct sl_sock_claim *c = sk->claims;

		sk->claims = c->next;
		unclaim(sk, &c->req);
		sl_free(c);
	}
	sl_unlock(&claims_lock);
}

static uint32_t claim_flags(const struct sl_sock *sk)
{
	return sk->want & SL_WANT_ANY_STAMP ? SL_CLAIM_STAMP : 0;
}

void sl_sock_claim_flags(struct sl_sock *sk)
{
	for (struct sl_sock_claim *c = sk->claims; c; c = c->next) {
		uint32_t flags = (c->req.claim.flags & ~SL_CLAIM_STAMP) | claim_flags(sk);

		if (flags == c->req.claim.flags)
			continue;
		c->req.claim.flags = flags;
		sl_broker_claim_update(&c->req);
	}
}

/* The lane's leg that the claim is about, if its packets come by that lane; else NULL. */
static struct sl_leg *leg_of(struct sl_lane *lane, const struct sl_claim_req *req)
{
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n; i++) {
		struct sl_leg *leg = lane->leg[i];

		if (!sl_leg_is_closed(leg) && !leg->is_class && leg->first == req->claim.lane &&
		    leg->port->lower == req->ifindex && leg->port->vlan == req->key.vlan)
			return leg;
	}
	return NULL;
}

struct lane_walk {
	const struct sl_claim_req *req;
	struct sl_port *port;
};

static void look_for_leg(struct sl_lane *lane, void *arg)
{
	struct lane_walk *w = arg;
	struct sl_leg *leg = leg_of(lane, w->req);

	if (leg)
		w->port = leg->port;
}

bool sl_sock_claims_to(struct sl_sock *sk, struct sl_lane *lane)
{
	bool all = true;

	for (struct sl_sock_claim *c = sk->claims; c; c = c->next) {
		struct lane_walk w = {.req = &c->req};
		uint32_t before = c->req.claim.lane;
		struct sl_leg *leg;

		if (leg_of(lane, &c->req))
			continue;
		sl_lane_for_each(look_for_leg, &w);
		leg = w.port ? sl_lane_leg(lane, w.port) : NULL;
		if (leg)
			c->req.claim.lane = leg->first;
		if (!leg || sl_broker_claim_update(&c->req) < 0) {
			c->req.claim.lane = before;
			all = false;
		}
	}
	return all;
}

struct twin {
	const struct sl_sock *of;
	bool found;
};

static void look_for_twin(struct sl_sock *sk, void *arg)
{
	struct twin *t = arg;

	if (sk == t->of)
		return;
	for (const struct sl_sock_claim *a = sk->claims; a; a = a->next)
		for (const struct sl_sock_claim *b = t->of->claims; b; b = b->next)
			t->found |= a->req.ifindex == b->req.ifindex &&
				    memcmp(&a->req.key, &b->req.key, sizeof(a->req.key)) == 0;
}

bool sl_sock_has_twin(const struct sl_sock *sk)
{
	struct twin t = {.of = sk};

	sl_lock(&claims_lock);
	sl_sock_for_each(look_for_twin, &t);
	sl_unlock(&claims_lock);
	return t.found;
}

static void fill_req(struct sl_sock *sk, const struct sl_port *port, const struct sl_leg *leg,
		     struct sl_claim_req *req)
{
	*req = (struct sl_claim_req){
		.ifindex = port->lower,
		.shadow_fd = sk->fd,
		.key.proto = sk->proto,
		.key.vlan = port->vlan,
		.key.local_port = sk->local_port,
		.claim.lane = leg->first,
		.claim.slot = sk->slot,
		.claim.gen = sl_slots[sk->slot].gen,
		.claim.flags = claim_flags(sk) | SL_CLAIM_VLAN(port->vlan_nr),
		.spread = sk->reuseport || sk->heir,
		.replace = sk->reuse && !sk->reuseport && sk->proto == IPPROTO_UDP,
	};
	memcpy(req->key.local, sk->local.b, 16);
	if (sl_sock_is_connected_udp(sk)) {
		memcpy(req->key.remote, sl_udp_sk(sk)->udp.remote.b, 16);
		req->key.remote_port = sl_udp_sk(sk)->udp.remote_port;
	}
}

/* Adds what the rule asks for to what the socket asks for. False: no packet fits both. */
static bool narrow_by(const struct sl_sock *sk, const struct sl_narrow *rule, struct sl_narrow *out)
{
	*out = *rule;
	if (!sl_sock_is_udp(sk))
		return true;
	out->mask.word |= sl_udp_sk_const(sk)->narrow.mask.word;
	out->marks.word |= sl_udp_sk_const(sk)->narrow.marks.word;
	return !((rule->marks.word ^ sl_udp_sk_const(sk)->narrow.marks.word) & rule->mask.word &
		 sl_udp_sk_const(sk)->narrow.mask.word);
}

static struct sl_sock_claim *find_claim(const struct sl_sock *sk, const struct sl_claim_req *req)
{
	for (struct sl_sock_claim *c = sk->claims; c; c = c->next)
		if (c->req.ifindex == req->ifindex &&
		    memcmp(&c->req.key, &req->key, sizeof(req->key)) == 0)
			return c;
	return NULL;
}

/* Claims, or narrows the claim that there is. */
static bool put_claim(struct sl_sock *sk, const struct sl_claim_req *req, const char **why)
{
	struct sl_sock_claim *c = find_claim(sk, req);

	if (!c)
		return sl_sock_add_claim(sk, req, why);
	if (memcmp(&c->req.narrow, &req->narrow, sizeof(req->narrow)) == 0)
		return true;
	c->req.narrow = req->narrow;
	return sl_broker_claim_update(&c->req) == 0;
}

bool sl_sock_claim_on(struct sl_sock *sk, struct sl_port *port, const struct sl_narrow *rule,
		      const char **why)
{
	struct sl_leg *leg = sl_lane_leg(sk->lane, port);
	struct sl_claim_req req;
	bool ok;

	if (!leg)
		return false;
	fill_req(sk, port, leg, &req);
	if (!narrow_by(sk, rule, &req.narrow)) {
		*why = "no packet has both the marks of its rule and those that it asks for";
		return false;
	}
	ok = put_claim(sk, &req, why);
	if (ok && sk->family == AF_INET6 && !sk->v6only && !sk->bound_addr &&
	    !sl_sock_is_connected_udp(sk)) {
		struct sl_addr any4 = sl_addr_v4(0); /* a dual-stack wildcard is two endpoints */

		memcpy(req.key.local, any4.b, 16);
		ok = put_claim(sk, &req, why);
	}
	return ok;
}

/* Returns the claims that do not stay; the caller owns them. */
static struct sl_sock_claim *take(struct sl_sock *sk, bool (*stays)(const struct sl_sock *sk,
								    const struct sl_flow_key *key))
{
	struct sl_sock_claim *taken = NULL;

	sl_lock(&claims_lock);
	for (struct sl_sock_claim **at = &sk->claims; *at;) {
		struct sl_sock_claim *c = *at;

		if (stays(sk, &c->req.key)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = taken;
		taken = c;
	}
	sl_unlock(&claims_lock);
	return taken;
}

static bool has_peer(const struct sl_sock *sk, const struct sl_flow_key *key)
{
	return key->remote_port;
}

struct sl_sock_claim *sl_sock_endpoints_take(struct sl_sock *sk)
{
	return take(sk, has_peer);
}

/* True: the socket still has this endpoint. A new claim would make it count as bound last. */
static bool is_endpoint(const struct sl_sock *sk, const struct sl_flow_key *key)
{
	struct sl_addr any4 = sl_addr_v4(0);

	if (key->remote_port || sl_sock_is_connected_udp(sk) || sk->bound_if ||
	    key->local_port != sk->local_port)
		return false;
	return memcmp(key->local, sk->local.b, 16) == 0 ||
	       (!sk->bound_addr && memcmp(key->local, any4.b, 16) == 0);
}

struct sl_sock_claim *sl_sock_claims_take(struct sl_sock *sk)
{
	return take(sk, is_endpoint);
}

void sl_sock_claims_drop(struct sl_sock *sk, struct sl_sock_claim *old)
{
	sl_lock(&claims_lock);
	while (old) {
		struct sl_sock_claim *c = old;

		old = c->next;
		if (!find_claim(sk, &c->req))
			unclaim(sk, &c->req);
		sl_free(c);
	}
	sl_unlock(&claims_lock);
}
