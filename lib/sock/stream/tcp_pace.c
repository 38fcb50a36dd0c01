/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate of a TCP connection, and how a NIC keeps it.
 *
 * Theory of operation: TCP keeps the pace itself (lib/tcp/tcp_out.c). Where the NIC it sends by has
 * paced queues, the connection has a pacer (stack/pace_tcp.c), which TCP asks when it may post, as
 * long as opts->nic is set; and its segments go by the leg that the pacer says. A NIC that cannot,
 * or fails, leaves everything to TCP. */
#include "base/clock.h"
#include "base/sys.h"
#include "sock/stream/tconn.h"
#include "stack/pace.h"
#include "stack/pace_int.h"
#include "stack/paces.h"
#include "tcp/tcp_out.h"

#define DRAIN_NS 200000000ull
#define LOOK_NS  200000

static uint64_t now_ns(const struct sl_tconn *c)
{
	return c->tcp.host->now_us * 1000;
}

void sl_tconn_pace_end(struct sl_tconn *c)
{
	if (!c->path || !c->path->pacer)
		return;
	c->special &= ~SL_TCONN_NIC;
	sl_pacer_put(c->path->pacer);
	c->path->pacer = NULL;
}

/* From now on TCP keeps the pace. */
static void leave_to_tcp(struct sl_tconn *c)
{
	struct sl_tcp_opts *o = c->tcp.opts;

	o->nic = false;
	o->leaves_us = 0;
	c->special &= ~SL_TCONN_NIC;
	if (!o->pace.bytes_s)
		sl_tconn_pace_end(c);
}

static struct sl_pacer *get_pacer(struct sl_tconn *c)
{
	if (!c->path->pacer)
		c->path->pacer = sl_pacer_new(sl_stats_sock_none());
	return c->path->pacer;
}

void sl_tconn_rate(struct sl_tconn *c)
{
	const struct sl_tcp_key *k = &c->tcp.node.key;
	struct sl_leg *leg = c->path ? c->path->leg : NULL;
	struct sl_pace_ask own = {0}, rule = {0}, ask;
	struct sl_pace *pace;

	own.bytes_s = sl_tcp_opt(&c->tcp, asked_bytes_s);
	own.burst_bytes = c->sk ? c->sk->pace_burst : 0;
	if (leg)
		rule = sl_paces_ask(leg->port, &k->remote, k->rport);
	ask = sl_paces_lower(&own, &rule);
	if (!ask.bytes_s && !sl_tcp_opt(&c->tcp, pace.bytes_s))
		return;
	pace = &sl_tcp_opts(&c->tcp)->pace;
	if (pace->bytes_s != ask.bytes_s || pace->burst_bytes != ask.burst_bytes)
		sl_pace_set(pace, ask.bytes_s, ask.burst_bytes, now_ns(c));
}

void sl_tconn_pace(struct sl_tconn *c)
{
	struct sl_tcp_opts *o = c->tcp.opts;
	struct sl_pace_ask ask = {0};

	if (!o)
		return;
	ask.bytes_s = o->pace.bytes_s;
	ask.burst_bytes = o->pace.burst_bytes;
	if (!c->path->pacer && (!ask.bytes_s || !sl_leg_is_by_nic(c->path->leg)))
		return;
	if (!get_pacer(c))
		return;
	ask.packet_bytes = c->sk ? c->sk->pace_packet : 0;
	sl_pacer_follow(c->path->pacer, c->path->leg, &ask,
			sl_tcp_frame_bytes(&c->tcp, c->tcp.mss));
	if (sl_pacer_is_idle(c->path->pacer))
		return;
	o->nic = true;
	c->special |= SL_TCONN_NIC;
}

bool sl_tconn_paced(struct sl_tconn *c, uint64_t *at_us)
{
	struct sl_pace *own = &c->tcp.opts->pace;
	uint64_t at_ns;

	if (sl_pacer_until(c->path->pacer, now_ns(c), own->next_ns, &at_ns)) {
		/* Segments that TCP itself paced count, too. */
		*at_us = (sl_max(at_ns, own->next_ns) + 999) / 1000;
		return true;
	}
	own->next_ns = sl_max(own->next_ns, sl_pacer_pace(c->path->pacer)->next_ns);
	c->tcp.opts->leaves_us = 0;
	if (sl_pacer_is_idle(c->path->pacer))
		leave_to_tcp(c);
	return false;
}

/* Nothing but an ACK: it is not paced. */
static bool is_pure(const struct sl_tcp_seg *seg)
{
	return !seg->len && !(seg->flags & (SL_TCP_SYN | SL_TCP_FIN | SL_TCP_RST));
}

struct sl_leg *sl_tconn_way(struct sl_tconn *c, const struct sl_tcp_seg *seg)
{
	if (is_pure(seg))
		return c->path->leg;
	return sl_pacer_way(c->path->pacer, c->path->leg);
}

void sl_tconn_posted(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg)
{
	uint64_t leaves_ns;

	if (is_pure(seg))
		return;
	leaves_ns = sl_pacer_posted(c->path->pacer, leg, sl_tcp_frame_bytes(&c->tcp, seg->len),
				    now_ns(c));
	c->tcp.opts->leaves_us = leaves_ns / 1000;
	c->tcp.host->paced = true; /* for the lane: packets to start and look after */
}

bool sl_tconn_may_burst(const struct sl_tconn *c, uint32_t n, uint32_t bytes)
{
	return n * bytes <= sl_pacer_ask(c->path->pacer).burst_bytes;
}

/* Lane held. */
static bool is_drained(struct sl_tconn *c)
{
	return c->dead || !c->path || !c->path->pacer || sl_pacer_leave(c->path->pacer);
}

void sl_tconn_drain(struct sl_tconn *c)
{
	struct timespec some = {.tv_nsec = LOOK_NS};
	struct sl_lane *lane = c->lane;
	uint64_t end_ns = sl_now_ns() + DRAIN_NS;
	bool drained;

	for (;;) {
		if (!sl_lane_lock(lane))
			return;
		drained = is_drained(c);
		sl_lane_unlock(lane);
		if (drained || sl_now_ns() > end_ns)
			return;
		sl_sys(SYS_nanosleep, &some, NULL);
	}
}
