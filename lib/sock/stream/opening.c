/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections whose neighbour is not resolved, or whose device is not open, when connect() is
 * called.
 *
 * Theory of operation: connect() does not wait for ARP or ND. The first SYN meets no neighbour; the
 * look-up of its path has the kernel resolve one. The keeper hears of the neighbour by rtnetlink
 * and sends the SYN once more, at once. A neighbour that does not answer in time is the kernel's to
 * report: the kernel connects, from the same port.
 *
 * A neighbour may be lost later, with its link or for want of an answer. Segments that meet none
 * are lost; when the keeper hears of a neighbour, those connections try what is out at once, as the
 * kernel sends what waits for a neighbour.
 *
 * Nor does a connect() that must not block wait until its device is opened, which takes tens of
 * milliseconds: most of what the first socket of a process costs. The keeper opens the device and
 * the lane's place on it, claims the flow, and sends the SYN; until then no packet of the
 * connection leaves, since the kernel would answer the peer's by a reset. Where that fails the
 * kernel connects. */
#include "base/clock.h"
#include "sock/core/life.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/restart.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_icmp.h"

#define LOOK_NS 5000000
#define RESTS   15 /* times as long as a look at those that missed, before the next one */

bool sl_tconn_awaited;

static bool opening; /* some connection has neigh_steps */

static bool missed;      /* a segment has met no neighbour; atomic */
static uint32_t heard;   /* sl_neigh_resolved at the last look */
static uint64_t rest_ns; /* no look before */

void sl_opening_missed(void)
{
	sl_store_release(&missed, true);
}

void sl_opening_add(void)
{
	sl_store_release(&opening, true);
}

static bool is_resolved(const struct sl_tconn *c)
{
	uint8_t mac[6];
	uint32_t seq;

	return c->path && c->path->d->neigh && sl_neigh_read(c->path->d->neigh, mac, &seq);
}

enum verdict { DONE, WAITS, IS_LATE };

/* Lane held. */
static enum verdict judge(struct sl_tconn *c, struct sl_lane *lane, uint64_t now_ns)
{
	if (c->tcp.state != SL_TCP_SYN_SENT || c->tcp.frozen) {
		c->neigh_steps = 0;
		return DONE;
	}
	if (is_resolved(c)) {
		c->neigh_steps = 0;
		sl_lane_tcp_begin(lane);
		sl_tcp_send_syn(&c->tcp);
		sl_lane_tcp_done(lane);
		return DONE;
	}
	return now_ns < c->tcp.born_us * 1000 + c->neigh_steps * SL_NEIGH_STEP_NS ? WAITS : IS_LATE;
}

/* The keys of a connection whose device is being opened. False: it is none any more. */
static bool is_coming(struct sl_tconn *c, struct sl_tcp_key *key, uint32_t *ifindex)
{
	struct sl_lane *lane = sl_load(&c->lane);
	bool is;

	if (!sl_lane_lock(lane))
		return false;
	is = c->coming && !c->dead && c->tcp.state == SL_TCP_SYN_SENT && !c->tcp.frozen;
	if (is) {
		sl_lane_tcp_begin(lane);
		*key = c->tcp.node.key;
		*ifindex = sl_tconn_dst(c)->route.ifindex;
		sl_lane_tcp_done(lane);
	} else if (!c->dead) {
		c->coming = false;
	}
	sl_lane_unlock(lane);
	return is;
}

/* The lane's place on the device; NULL and SL_REASON_NONE: later. (The port's rules may be others
 * than those that connect() saw.) */
static struct sl_leg *open_device(struct sl_tconn *c, const struct sl_tcp_key *k, uint32_t ifindex,
				  enum sl_reason *reason)
{
	struct sl_port *p = sl_port_open(ifindex);

	*reason = SL_REASON_NO_DEVICE;
	if (!p || !sl_load(&p->stats->alive))
		return NULL;
	if (sl_port_decide(p, SL_ROLE_TCP_CLIENT, &k->remote, k->rport, &k->local, k->lport) ==
	    SL_RULE_OS) {
		*reason = SL_REASON_RULE;
		return NULL;
	}
	/* A SYN that goes before the link is up again is sent once more in a second. */
	*reason = SL_REASON_NONE;
	if (sl_port_restarts(p) && !sl_link_has_carrier(ifindex))
		return NULL;
	*reason = SL_REASON_CLAIM;
	return sl_lane_leg(sl_load(&c->lane), p);
}

/* Time for the neighbour of such a connection, in SL_NEIGH_STEP_NS: the keeper, which has opened
 * the device, has not heard of neighbours meanwhile. */
#define LATE_STEPS 4

/* The flow is claimed: the SYN goes. The time for the neighbour begins now; where opening the
 * device has cost its link, the neighbour has the port's time (restart.c). Its waiters watch a lane
 * that has got another descriptor. */
static void let_go(struct sl_tconn *c, struct sl_sock *sk, struct sl_lane *lane,
		   const struct sl_port *port)
{
	uint64_t steps = (sl_now_ns() - c->tcp.born_us * 1000) / SL_NEIGH_STEP_NS + 1 + LATE_STEPS;

	c->coming = false;
	c->neigh_steps = (uint8_t)sl_min(steps, (uint64_t)UINT8_MAX);
	if (sl_port_restarts(port)) {
		c->neigh_steps = 0;
		sl_store(&sl_tconn_awaited, true);
	}
	sl_tconn_path_changed(c);
	sl_lane_tcp_begin(lane);
	sl_tcp_send_syn(&c->tcp);
	sl_lane_tcp_done(lane);
	if (is_resolved(c))
		c->neigh_steps = 0;
	sl_sock_notify(sk, 0);
}

/* SL_REASON_NONE: done, or there is nothing to do. sk->slow held. */
static enum sl_reason take_device(struct sl_tconn *c, struct sl_sock *sk)
{
	enum sl_reason reason = SL_REASON_NONE;
	struct sl_tcp_key key;
	struct sl_lane *lane;
	struct sl_leg *leg;
	uint32_t ifindex;

	if (sk->conn != c || !is_coming(c, &key, &ifindex))
		return SL_REASON_NONE;
	leg = open_device(c, &key, ifindex, &reason);
	if (!leg || !sl_sock_lock(sk, &lane))
		return reason;
	sl_dst_outdate(sl_tconn_dst(c));
	sl_lane_unlock(lane);
	sl_tconn_claim_own(c, 0, sk->fd);
	if (!sl_sock_lock(sk, &lane))
		return SL_REASON_CLAIM;
	reason = SL_REASON_NONE;
	if (sk->conn == c && c->tcp.state == SL_TCP_SYN_SENT && sl_load(&c->claimed))
		let_go(c, sk, lane, leg->port);
	else if (sk->conn == c && c->tcp.state == SL_TCP_SYN_SENT)
		reason = SL_REASON_CLAIM;
	sl_lane_unlock(lane);
	return reason;
}

/* (A call that holds `slow` may wait for this thread.) */
static void look_at_coming(struct sl_tconn *c)
{
	struct sl_sock *sk = sl_load_acquire(&c->sk);
	enum sl_reason reason;

	sl_opening_add();
	if (!sk || !sl_trylock(&sk->slow))
		return;
	reason = take_device(c, sk);
	sl_unlock(&sk->slow);
	if (reason != SL_REASON_NONE)
		sl_sock_kernel_of(sk, c, reason);
}

static void look_at_opening(struct sl_tconn *c, void *arg)
{
	uint64_t now_ns = *(uint64_t *)arg;
	struct sl_lane *lane;
	enum verdict v;

	if (!sl_load(&c->neigh_steps) || c->dead)
		return;
	if (sl_load(&c->coming)) {
		look_at_coming(c);
		return;
	}
	lane = sl_load(&c->lane);
	if (!sl_lane_lock(lane)) {
		sl_opening_add();
		return;
	}
	v = judge(c, lane, now_ns);
	sl_lane_unlock(lane);
	if (v == IS_LATE)
		sl_sock_kernel_of(sl_load_acquire(&c->sk), c, SL_REASON_NO_DEVICE);
	else if (v == WAITS)
		sl_opening_add();
}

void sl_tconn_try(struct sl_tconn *c, bool (*is_tried)(const struct sl_tconn *c, const void *arg),
		  const void *arg)
{
	struct sl_lane *lane = sl_load_acquire(&c->lane);

	if (!lane || !sl_load(&c->path) || !sl_lane_lock(lane))
		return;
	/* The object may have become another connection by now. */
	if (c->lane == lane && !c->dead && c->path) {
		sl_lane_tcp_begin(lane);
		if (is_tried(c, arg))
			sl_tcp_try_now(&c->tcp);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
}

static bool has_way_now(const struct sl_tconn *c, const void *arg)
{
	(void)arg;
	if (c->path->leg)
		return false;
	if (is_resolved(c))
		return true;
	sl_opening_missed();
	return false;
}

static void try_missed(struct sl_tconn *c, void *arg)
{
	sl_tconn_try(c, has_way_now, arg);
}

static bool may_have_way(void)
{
	return sl_unlikely(sl_load(&missed)) && sl_load_acquire(&sl_neigh_resolved) != heard;
}

/* A look passes over all connections, perhaps 100,000, and other neighbours may come by the
 * hundred while one does not. */
static void look_at_missed(void)
{
	uint64_t begin_ns = sl_now_ns(), end_ns;

	if (begin_ns < rest_ns)
		return;
	heard = sl_load_acquire(&sl_neigh_resolved);
	sl_store(&missed, false);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sl_tconn_for_each(try_missed, NULL);
	end_ns = sl_now_ns();
	rest_ns = end_ns + RESTS * (end_ns - begin_ns);
}

void sl_opening_look(uint64_t now_ns)
{
	if (may_have_way())
		look_at_missed();
	if (sl_likely(!sl_load(&opening)))
		return;
	sl_store(&opening, false);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sl_tconn_for_each(look_at_opening, &now_ns);
}

uint64_t sl_opening_due_ns(uint64_t now_ns, bool quiet)
{
	uint64_t missed_ns = may_have_way() ? sl_max(rest_ns, now_ns) : UINT64_MAX;

	if (sl_load(&opening))
		return sl_min(now_ns + LOOK_NS, missed_ns);
	return missed_ns == UINT64_MAX ? 0 : missed_ns;
}

void sl_opening_child(void)
{
	opening = missed = false;
}
