/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets follow changes of the rules; TCP connections also follow their devices and the routes to
 * their peers.
 *
 * Theory of operation: the keeper looks once a second, and at once when a device has changed. Rules
 * are compared by what they say, since bpftool raises no generation. A connection that a rule gives
 * to the kernel goes there, and comes back when the rule has gone. A connection whose packets
 * cannot come or go by an offloaded device any more (the steering program was taken off, the device
 * is gone or is not the way to the peer now) goes to the kernel, too; while the kernel has no
 * route either it stays, retransmits as the kernel's would, and is looked at again, at once when
 * routes have changed. It comes back when its route leads to an offloaded device again: that is
 * looked at when devices have come, and, while some socket waits for it, when routes have changed.
 * So is a connected UDP socket, which the kernel serves meanwhile. A device that exists still is
 * opened anew for that, once its connections have moved (stack/retire.c). (Peers that send to
 * another device: stray.c.) A UDP socket that a rule gives to the kernel keeps its place here
 * without claims (dgram/decide.c), and has them again when the rule has gone; rules for
 * destinations are looked up anew for each destination. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/ready.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/restart.h"
#include "stack/retire.h"
#include "tcp/tcp_icmp.h"

#define LOST_NS         250000000 /* from the end of its steering until a device is opened anew */
#define BACK_NS         200000000 /* between looks for routes that sockets wait for */
#define UNGUARD_LOOKS   5
#define UNGUARD_LOOK_NS 900000000 /* looks that something has brought about are none of these */

static struct sl_lock busy; /* the ports' maps are looked at */
static bool stopped, look_now;
static uint64_t seen; /* what the rules of all ports said */
static uint32_t seen_routes, seen_netconf;
static uint32_t left; /* connections without a route (or soon), devices that go: look again */
static bool stranded; /* the last look left connections in place */
static uint32_t away; /* sockets that a device or a route is to bring back */
static uint32_t seen_ports;
static uint64_t looked_ns, wake_ns; /* of the last look; when the next must be, 0: any time */
static uint32_t waiting; /* for the kernel by a rule, but still connecting or unaccepted */

/* Rules ---------------------------------------------------------------------------------------- */

static uint64_t mix_words(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t w;

		memcpy(&w, b + i, 8);
		h = sl_mix(h, w);
	}
	return h;
}

/* A hash of the rules without their counters. */
static uint64_t said_by(const struct sl_rule *rules, uint64_t h)
{
	_Static_assert(offsetof(struct sl_rule, line) % 8 == 0, "mix_words() takes words");
	for (uint32_t i = 0, n = sl_rules_used(rules); i < n; i++)
		if (rules[i].action != SL_RULE_NONE)
			h = mix_words(h + i, &rules[i], offsetof(struct sl_rule, line));
	return h;
}

static bool ports_changed(void)
{
	uint32_t now = sl_load_acquire(&sl_ports_changed);
	bool changed = now != seen_ports;

	seen_ports = now;
	return changed;
}

static bool rules_changed(void)
{
	struct sl_port *p;
	uint64_t h = 1;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++)
		if (p->info.rules)
			h = said_by(p->info.rules, h);
	if (h == seen)
		return false;
	seen = h;
	return true;
}

static bool routes_changed(void)
{
	uint32_t now = sl_load(&sl_route_gen);
	bool changed = now != seen_routes;

	sl_store(&seen_routes, now);
	return changed;
}

/* Where a connection belongs --------------------------------------------------------------------
 */

struct look {
	bool rules, changed; /* they are to be looked at; because they say something else */
	bool back, ports; /* sockets without a device may have one now; since ports have changed */
	bool follow;      /* connections of several listeners are to follow to a device that came */
	bool behind;      /* some of these have not */
	uint32_t moved, left, waiting, away;
};

/* A result of "no device" may be outdated, so the route is looked up anew: the link may be up
 * again, and the connection should not go to the kernel then. Lane held. */
static struct sl_leg *leg_of(struct sl_tconn *c, struct sl_route *route)
{
	struct sl_leg *leg = sl_tconn_leg(c);
	const struct sl_dst *d;

	if (!leg)
		sl_dst_outdate(sl_tconn_dst(c));
	d = sl_tconn_dst(c);
	*route = d->route;
	return d->leg;
}

/* True: the connection began without a neighbour, and still has none although the link should be up
 * again (restart.c). Lane held. */
static bool waits_in_vain(struct sl_tconn *c, const struct sl_port *p)
{
	return c->tcp.state == SL_TCP_SYN_SENT && sl_port_restarted(p, c->tcp.born_us * 1000) &&
	       !sl_tconn_dst(c)->mac_ok;
}

/* The leg that its segments go by. NULL: no device of ours has its route now. */
static struct sl_leg *way_of(struct sl_tconn *c, struct sl_tcp_key *key, bool *server,
			     struct sl_route *route)
{
	struct sl_lane *lane = sl_load(&c->lane);
	struct sl_leg *leg;

	if (!sl_lane_lock(lane))
		return NULL;
	sl_lane_tcp_begin(lane);
	*key = c->tcp.node.key;
	*server = c->tcp.child;
	leg = leg_of(c, route);
	if (leg && (leg->dead || !sl_load(&leg->port->stats->alive) || waits_in_vain(c, leg->port)))
		leg = NULL;
	if (leg)
		sl_tcp_route_changed(&c->tcp);
	sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
	return leg;
}

static bool is_kernels_by_rule(const struct sl_port *p, const struct sl_tcp_key *k, bool server)
{
	const struct sl_rule_ask accepted = {SL_ROLE_TCP_SERVER, &k->local, k->lport, NULL, 0, 0};
	const struct sl_rule_ask connected = {
		SL_ROLE_TCP_CLIENT, &k->remote, k->rport, &k->local, k->lport, 0,
	};

	return sl_port_may_move(p, server ? &accepted : &connected, SL_RULE_OS);
}

/* way_of(), after the connection's lane is put on the device of its route, which may be new. */
static struct sl_leg *make_way(struct sl_tconn *c, struct sl_tcp_key *key, bool *server,
			       struct sl_route *route)
{
	struct sl_leg *leg = way_of(c, key, server, route);
	struct sl_port *p;

	if (leg || route->kind != SL_ROUTE_DEVICE)
		return leg;
	p = sl_port_open(route->ifindex);
	if (!p || !sl_load(&p->stats->alive) || !sl_lane_leg(sl_load(&c->lane), p))
		return NULL;
	return way_of(c, key, server, route);
}

/* Its claim follows its route to another device of ours (one that was made anew, say), so that it
 * need not go by the kernel. */
static bool claim_follows(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_key *key,
			  bool server)
{
	uint32_t hdr = sl_addr_is_v4(&key->remote) ? 40 : 60;
	struct sl_sock *sk = sl_load_acquire(&c->sk);
	bool follows;

	if (!sk || sl_tconn_is_connecting(c) || is_kernels_by_rule(leg->port, key, server) ||
	    sl_load(&c->tcp.adv_mss) + hdr > sl_port_rx_mtu(leg->port) || !sl_lock(&sk->slow))
		return false;
	follows = sk->nfds && sk->conn == c && !sl_tconn_claim_move(c, leg, sk->fd);
	sl_unlock(&sk->slow);
	return follows;
}

static void look_at_conn(struct sl_tconn *c, void *arg)
{
	struct look *l = arg;
	enum sl_reason reason = SL_REASON_NO_DEVICE;
	uint8_t state = sl_load(&c->tcp.state);
	struct sl_tcp_key key;
	struct sl_sock *sk;
	struct sl_route route = {0};
	bool server;
	struct sl_leg *leg, *claimed;
	struct sl_port *p = NULL;

	/* (A connection whose device is being opened is judged when that is done: opening.c.) */
	if (c->dead || c->tcp.frozen || state == SL_TCP_CLOSED || sl_load(&c->coming))
		return;
	leg = make_way(c, &key, &server, &route);
	claimed = sl_load(&c->claimed);
	if (leg && (!claimed || claimed == leg || claim_follows(c, leg, &key, server)))
		p = leg->port;
	if (p && state == SL_TCP_SYN_SENT && sl_port_restarts(p))
		l->left++;
	if (p && (!l->rules || !is_kernels_by_rule(p, &key, server)))
		return;
	if (!p && route.kind == SL_ROUTE_UNREACHABLE) { /* the kernel has no route either */
		l->left++;
		return;
	}
	if (p)
		reason = SL_REASON_RULE;
	sk = sl_load_acquire(&c->sk);
	if ((p && sl_tconn_is_connecting(c)) || (!sk && !c->tcp.orphan)) {
		*(p ? &l->waiting : &l->left) += 1; /* connected, and accepted, first */
		return;
	}
	if (sk && sk->conn == c)
		sl_sock_kernel_of(sk, c, reason);
	else if (c->tcp.orphan)
		sl_tconn_orphan_to_kernel(c);
	*(c->dead || !sl_load(&c->sk) ? &l->moved : &l->left) += 1;
}

/* Devices that go ------------------------------------------------------------------------------
 */

/* Removes the guard of a device that has lost its steering program, so that the kernel may answer
 * there for itself again. First come UNGUARD_LOOKS looks, since a connection that began before the
 * loss was noticed may be moved late; the last waits as long as connections are stranded. True:
 * some device still has its guard. */
static bool unguard(void)
{
	static uint64_t counted_ns;
	uint64_t now = sl_now_ns();
	bool leaving = false, counts = now - counted_ns >= UNGUARD_LOOK_NS;
	struct sl_port *p;

	if (counts)
		counted_ns = now;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		if (p->base || p->retired || sl_load(&p->stats->alive) || p->gone == UNGUARD_LOOKS)
			continue;
		leaving = true;
		if (!counts || (stranded && p->gone + 1 == UNGUARD_LOOKS))
			continue;
		if (++p->gone == UNGUARD_LOOKS) {
			sl_broker_port_unguard(p->info.ifindex);
			leaving = false;
		}
	}
	return leaving;
}

struct holder {
	const struct sl_port *port;
	bool found;
};

static void holds(struct sl_tconn *c, void *arg)
{
	const struct sl_leg *leg = sl_load(&c->claimed);
	struct holder *h = arg;

	h->found |= leg && leg->port == h->port;
}

/* True: connections that began before the loss was noticed have had time to move. Else the next
 * look comes then. A connection that is left may be on this device; its guard is to stay. */
static bool has_lost_all(const struct sl_port *p, uint32_t conns_left)
{
	uint64_t at;

	while (p->base)
		p = p->base;
	at = p->ended_ns + LOST_NS;
	if (conns_left)
		return false;
	if (sl_now_ns() >= at)
		return true;
	sl_store(&wake_ns, at);
	return false;
}

/* (Claims may have come while they ended: sockets look for a device at any time.) */
static void retire_port(struct sl_port *p, bool lost)
{
	uint32_t lower = p->lower;

	sl_sock_claims_end(lower);
	sl_mcast_leave(lower);
	sl_passes_end(lower);
	sl_port_retire(p);
	sl_bells_ring();
	if (!lost || !p->retired)
		return;
	sl_sock_claims_end(lower);
	if (!p->base)
		sl_lost_add(lower);
}

/* Retires devices that are gone, or are to be opened anew, once nothing on them is left to be
 * moved. True: look again, some may wait (for a lane in use, or claims that are kept for a while).
 */
static bool retire(uint32_t conns_left)
{
	struct sl_port *p;
	bool waits = false;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		struct holder h = {.port = p};
		bool lost = sl_port_is_lost(p) && !sl_port_is_gone(p);

		if (p->retired || !(lost || sl_port_is_gone(p)))
			continue;
		waits = true;
		if (!sl_port_may_retire(p))
			continue;
		if (lost ? !has_lost_all(p, conns_left) : !p->base && p->gone < UNGUARD_LOOKS)
			continue;
		sl_tconn_for_each(holds, &h);
		if (!h.found)
			retire_port(p, lost);
	}
	return waits;
}

/* Sockets ---------------------------------------------------------------------------------------
 */

/* True: the rules of any port give the socket to the kernel, so it is the kernel's on all of them.
 */
static bool must_leave(const struct sl_rule_ask *ask)
{
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++)
		if (sl_port_may_move(p, ask, SL_RULE_OS))
			return true;
	return false;
}

static bool may_return(const struct sl_rule_ask *ask)
{
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++)
		if (!sl_port_may_move(p, ask, SL_RULE_SLUICE))
			return false;
	return true;
}

/* Takes the socket over; fails while a call is in the kernel with it, and is tried again later. */
static int take_over(struct sl_sock *sk)
{
	int err = sl_sock_take(sk, false);

	if (err == -EBUSY || err == -EAGAIN)
		sl_sock_want(sk);
	return err;
}

static bool was_left_by(const struct sl_sock *sk, enum sl_reason reason)
{
	return sl_load(&sk->state) == SL_STATE_KERNEL && sk->stats->reason == reason &&
	       sk->forks == sl_load(&sl_forks);
}

static bool was_left_by_rule(const struct sl_sock *sk)
{
	return was_left_by(sk, SL_REASON_RULE);
}

/* True: a connection that was ours, and left for lack of a device; or since its peer sends to
 * another device, which may be ours now: that is believed once for each change of devices. (A
 * connection that was handed back knows what MSS we have told its peer.) */
static bool was_left_by_device(const struct sl_sock *sk, const struct look *l)
{
	return sk->told_mss && (was_left_by(sk, SL_REASON_NO_DEVICE) ||
				(l->ports && was_left_by(sk, SL_REASON_STRAY)));
}

static void look_for_device(struct sl_sock *sk, struct look *l)
{
	int err = sl_load(&sk->given) ? 0 : take_over(sk);

	if (err == -EREMOTE)
		l->away++;
	else if (!err)
		sl_debug("policy", "fd %d has a device again", sk->fd);
}

static void look_at_listener(struct sl_sock *sk, struct look *look)
{
	struct sl_tlisten *l = sl_load_acquire(&sk->lsn);
	const struct sl_rule_ask ask = {
		SL_ROLE_TCP_SERVER, &sk->local, sk->local_port, NULL, 0, 0,
	};

	if (l && sl_tlisten_drains(l)) {
		sl_tlisten_look(sk, l);
		/* (The rule may have gone while it drained.) */
		if (was_left_by_rule(sk) && may_return(&ask))
			take_over(sk);
	} else if (l && look->rules && must_leave(&ask)) {
		sl_sock_kernel_of(sk, l, SL_REASON_RULE);
	} else if (l && look->follow) {
		look->behind |= !sl_tlisten_claim_older(sk);
	}
}

static void look_at_udp(struct sl_sock *sk, struct look *l)
{
	const struct sl_udp *u = &sl_udp_sk_const(sk)->udp;
	const struct sl_rule_ask bound = {
		SL_ROLE_UDP_RECEIVER, &sk->local, sk->local_port, NULL, 0, 0,
	};
	const struct sl_rule_ask connected = {
		SL_ROLE_UDP_CONNECT, &u->remote, u->remote_port, &sk->local, sk->local_port, 0,
	};
	const struct sl_rule_ask *ask = u->connected ? &connected : &bound;
	bool ruled = sl_sock_is_ruled(sk);
	struct sl_lane *lane;

	if (ruled ? may_return(ask) : must_leave(ask)) {
		*(sl_sock_follow_rule(sk, !ruled) ? &l->moved : &l->waiting) += 1;
	} else if (sl_sock_lock(sk, &lane)) {
		sl_sock_path_changed(sk);
		sl_lane_unlock(lane);
	}
}

static void apply_to_sock(struct sl_sock *sk, void *arg)
{
	uint8_t state = sl_load(&sk->state);
	struct look *l = arg;

	if (sl_sock_is_udp(sk)) {
		if (l->rules && state == SL_STATE_OFFLOADED)
			look_at_udp(sk, l);
		if (l->back && state == SL_STATE_OFFLOADED && sl_sock_is_connected_udp(sk))
			l->away += !sl_sock_claim_again(sk);
		return;
	}
	if (state == SL_STATE_OFFLOADED)
		look_at_listener(sk, l);
	else if (l->changed && was_left_by_rule(sk))
		take_over(sk);
	else if (l->back && was_left_by_device(sk, l))
		look_for_device(sk, l);
}

/* The keeper's ----------------------------------------------------------------------------------
 */

void sl_policy_now(void)
{
	sl_store(&look_now, true);
}

/* When the next look must be; 0: at any time. */
static uint64_t due_ns(void)
{
	bool routes = sl_load(&sl_route_gen) != sl_load(&seen_routes);

	return routes && sl_load(&away) ? sl_load(&looked_ns) + BACK_NS : sl_load(&wake_ns);
}

/* True: look now. It was asked for, settings of devices have changed, by which VXLAN devices
 * receive (rp_filter), or a connection has lost its route and routes have changed since: until it
 * is moved, its peer's segments meet no socket. */
bool sl_policy_is_due(void)
{
	uint64_t due = due_ns();

	return sl_load(&look_now) || (sl_unlikely(due) && sl_now_ns() >= due) ||
	       sl_load(&sl_netconf_gen) != sl_load(&seen_netconf) ||
	       (sl_load(&stranded) && sl_load(&sl_route_gen) != sl_load(&seen_routes));
}

uint64_t sl_policy_soon_ns(uint64_t now_ns, bool quiet)
{
	return due_ns();
}

static void take_late(struct sl_sock *sk, void *arg)
{
	bool *all = arg;

	if (sl_load_acquire(&sk->lsn))
		*all &= sl_tlisten_take_late(sk);
}

/* until_ns is what sl_tconn_follow_ns was before the look: a device that has come since stays to be
 * waited for. Before the wait ends, listeners take the segments that were steered to them before
 * the connections had their claims: they may be for another lane. */
static void follow_on(uint64_t until_ns, const struct look *l)
{
	uint64_t now = sl_now_ns(), next = l->left && now < until_ns ? until_ns : 0;
	bool all = !l->behind;

	if (!next && until_ns && all)
		sl_sock_for_each(take_late, &all);
	if (!all)
		next = now + SL_TCONN_FOLLOW_NS;
	(void)__atomic_compare_exchange_n(&sl_tconn_follow_ns, &until_ns, next, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void sl_policy_check(void)
{
	struct look l = {0};
	uint64_t follow_ns;
	bool leaving, routes;

	if (!sl_lock(&busy))
		return;
	if (!stopped && sl_port_at(0)) {
		sl_store(&look_now, false);
		sl_store(&seen_netconf, sl_load_acquire(&sl_netconf_gen));
		sl_store(&wake_ns, 0);
		sl_store(&looked_ns, sl_now_ns());
		sl_ports_check();
		sl_lanes_check();
		l.changed = rules_changed();
		l.rules = l.changed || waiting;
		leaving = unguard();
		routes = routes_changed();
		l.ports = ports_changed();
		follow_ns = sl_load(&sl_tconn_follow_ns);
		l.follow = l.ports || follow_ns;
		if (l.ports)
			sl_strays_forget();
		if (l.rules || left || leaving || routes || l.follow ||
		    __atomic_exchange_n(&sl_tconn_awaited, false, __ATOMIC_ACQ_REL))
			sl_tconn_for_each(look_at_conn, &l);
		if (sl_tconn_in_use())
			l.moved += sl_strays_look();
		l.back = l.ports || l.moved || (routes && away);
		if (l.rules || l.back || l.follow || sl_tlisten_draining())
			sl_sock_for_each(apply_to_sock, &l);
		if (l.back)
			sl_store(&away, l.away);
		if (l.follow)
			follow_on(follow_ns, &l);
		sl_store(&stranded, l.left > 0);
		sl_store(&left, l.left + leaving + retire(l.left));
		sl_store(&waiting, l.waiting);
	}
	sl_unlock(&busy);
	if (l.moved)
		sl_info("policy", "%u sockets follow a change of rules or devices", l.moved);
}

bool sl_policy_waits(void)
{
	return sl_load(&left) || sl_load(&waiting) || sl_load(&sl_tconn_awaited) ||
	       sl_load(&sl_tconn_follow_ns) || sl_tlisten_draining();
}

void sl_policy_stop(void)
{
	if (!sl_lock(&busy))
		return;
	stopped = true;
	sl_unlock(&busy);
}

void sl_policy_child(void)
{
	memset(&busy, 0, sizeof(busy));
	stopped = look_now = stranded = sl_tconn_awaited = false;
	left = waiting = away = 0;
	wake_ns = 0;
	seen = 0;
}
