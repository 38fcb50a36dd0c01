/* SPDX-License-Identifier: BSD-2-Clause */
/* The policy of timers: which event arms what, and what happens when it is due.
 *
 * Theory of operation: a connection has one timer in the host's wheel and a deadline for each
 * purpose. Deadlines move with nearly every segment, mostly away; the timer follows only to an
 * earlier time. When it fires it does what is due and goes to the nearest deadline that is left.
 * How often is not counted in attempts but in time, as Linux does (tcp_timer.c,
 * tcp_model_timeout()): so long as so many retransmissions would take that began at rto_min. */
#include <errno.h>

#include "tcp/listen/tcp_req.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_rtt.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_late.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_tw.h"

#define TLP_MARGIN_US  2000u /* the peer's jiffies */
#define RENEGING_US    10000
#define SYN_RTO_US     1000000ull /* RFC 6298 2.1 */
#define RESOURCE_US    500000u    /* nothing could be sent: try again */
#define MTU_PROBE_FROM 3u         /* time-outs: tcp_retries1 */
#define REST_US        1000000u   /* then an empty queue's memory is given back */
#define THIN_STREAM    4u         /* TCP_THIN_*: fewer segments are out */
#define THIN_RETRIES   6u         /* TCP_THIN_LINEAR_RETRIES: then the RTO doubles after all */
#define LATE_US        (1u << 30) /* half of what a deadline may lie ahead */

/* The one timer ------------------------------------------------------------------------------- */

static void nearer_us(uint64_t *least, uint64_t at_us)
{
	if (at_us && at_us < *least)
		*least = at_us;
}

static void nearer(uint64_t *least, const struct sl_tcp *c, uint32_t at)
{
	if (at)
		nearer_us(least, sl_tcp_at_us(c, at));
}

/* When a quiet connection frees the arrays of its queues, and its owner frees the path, to save
 * memory. Never in the past, unless the caller frees them at once. */
static uint64_t rest_at(const struct sl_tcp *c)
{
	uint64_t last = sl_max(c->last_rcv_us, c->last_sent_us);

	if ((!c->txsize && !c->rxsize && !c->awake) || c->tx_una != c->tx_tail ||
	    c->rx_head != c->rx_tail || c->noo)
		return 0;
	if (c->ack_now) /* there is no room for it */
		return c->host->now_us + REST_US;
	return sl_max(last, c->born_us) + REST_US;
}

static void rest(struct sl_tcp *c)
{
	uint64_t at = rest_at(c);

	if (!at || at > c->host->now_us)
		return;
	sl_tcp_snd_free(c);
	sl_tcp_rcv_free(c);
	c->awake = false;
	if (c->host->ops->rest)
		c->host->ops->rest(c);
}

void sl_tcp_timer_rearm(struct sl_tcp *c)
{
	uint64_t at = UINT64_MAX;

#pragma GCC unroll 6
	for (size_t i = 0; i < sl_array_len(c->deadlines); i++)
		nearer(&at, c, c->deadlines[i]);
	nearer_us(&at, c->keep_at);
	nearer_us(&at, rest_at(c));
	if (at == UINT64_MAX || c->state == SL_TCP_CLOSED)
		return;
	at = sl_max(at, c->host->now_us); /* how late it fires tells something: all_due() */
	if (sl_timer_is_armed(&c->timer) && c->timer.at_tick * SL_WHEEL_TICK_US <= at)
		return;
	sl_timer_arm(&c->host->wheel, &c->timer, at);
}

/* Arms the timer for a deadline that has moved. Usually the timer fires before it anyway. */
static void cover(struct sl_tcp *c, uint32_t at)
{
	if (sl_likely(sl_timer_is_armed(&c->timer) &&
		      c->timer.at_tick * SL_WHEEL_TICK_US <= sl_tcp_at_us(c, at)))
		return;
	sl_tcp_timer_rearm(c);
}

/* Sends the ACK of a train (tcp_ack.c) after us at the latest. A delayed ACK may be due before
 * that. */
void sl_tcp_timer_thin(struct sl_tcp *c, uint32_t us)
{
	uint64_t at = c->host->now_us + us;

	if (c->delack_at && sl_tcp_at_us(c, c->delack_at) <= at)
		return;
	c->delack_at = sl_tcp_at(at);
	cover(c, c->delack_at);
}

void sl_tcp_timer_stop(struct sl_tcp *c)
{
	memset(c->deadlines, 0, sizeof(c->deadlines));
	c->keep_at = 0;
	sl_timer_cancel(&c->host->wheel, &c->timer);
}

/* Times ---------------------------------------------------------------------------------------- */

static uint64_t max_us(void)
{
	return sl_tcp_params.rto_max_ms * 1000ull;
}

/* RFC 6298 5.5. rto_us stays doubled until there is a new sample (Karn). */
static void back_off(struct sl_tcp *c)
{
	c->backoff += c->backoff < UINT8_MAX;
	c->rto_us = (uint32_t)sl_min(2ull * c->rto_us, max_us());
}

/* The time between probes of a window. rto_us is doubled only here, since nothing is in flight. */
static uint64_t probe_interval_us(const struct sl_tcp *c)
{
	uint64_t base = sl_max(c->rto_us, sl_tcp_params.rto_min_ms * 1000u);
	uint64_t us = base << sl_min(c->backoff, (uint8_t)20);

	return sl_min(us, max_us());
}

/* Shortens the RTO so that TCP_USER_TIMEOUT (RFC 5482) ends the waiting when it is over, and not up
 * to an RTO later. */
static uint32_t not_beyond_user_timeout(const struct sl_tcp *c, uint64_t at)
{
	uint32_t ms = sl_tcp_opt(c, user_timeout_ms);
	uint64_t end = c->stuck_since_us + ms * 1000ull;

	if (!ms || !c->stuck_since_us)
		return sl_tcp_at(at);
	end = sl_max(end, c->host->now_us + SL_WHEEL_TICK_US);
	return sl_tcp_at(sl_min(at, end));
}

static void arm_rto(struct sl_tcp *c)
{
	c->rto_at = not_beyond_user_timeout(c, c->host->now_us + c->rto_us);
}

/* A stream that never has four segments in flight hardly ever gets three duplicate ACKs, and has
 * only its time-out: TCP_THIN_LINEAR_TIMEOUTS (tcp_retransmit_timer() and tcp_stream_is_thin() of
 * Linux). */
static bool is_linear(const struct sl_tcp *c)
{
	return (c->thin_lto || sl_tcp_params.thin_linear_timeouts) &&
	       c->state == SL_TCP_ESTABLISHED && sl_tcp_pieces_out(c) < THIN_STREAM &&
	       c->retries <= THIN_RETRIES;
}

/* The RTO after one that has passed. */
static void next_rto(struct sl_tcp *c)
{
	if (sl_likely(!is_linear(c))) {
		back_off(c);
		return;
	}
	c->backoff = 0;
	sl_tcp_rtt_set_rto(c);
}

/* How long so many retransmissions take, the first after base (tcp_model_timeout()). */
static uint64_t time_of_retries_from(uint64_t base, uint32_t n)
{
	uint64_t us = base, step = base;

	for (uint32_t i = 0; i < sl_min(n, 255u); i++) {
		step = sl_min(2 * step, max_us());
		us += step;
	}
	return us;
}

static uint64_t time_of_retries(const struct sl_tcp *c, uint32_t n)
{
	return time_of_retries_from(sl_tcp_rto_min_ms(c) * 1000ull, n);
}

static bool is_stuck_for(const struct sl_tcp *c, uint64_t us)
{
	return c->stuck_since_us && c->host->now_us - c->stuck_since_us >= us;
}

static bool is_user_timeout(const struct sl_tcp *c)
{
	uint32_t ms = sl_tcp_opt(c, user_timeout_ms);

	return ms && is_stuck_for(c, ms * 1000ull);
}

/* How often an orphan retransmits: less often than other connections, since no program waits for
 * it. */
static uint32_t orphan_retries(const struct sl_tcp *c, bool alive)
{
	uint32_t n = sl_tcp_params.orphan_retries;

	if (c->soft_error && !alive)
		return 0;
	return n || !alive ? n : 8;
}

/* Ends c because answers are missing. False: c is gone. */
static bool give_up(struct sl_tcp *c, bool reset)
{
	tcp_count(c->host, SL_TCPC_ABORT_ON_TIMEOUT, 1);
	if (reset)
		sl_tcp_send_rst(c);
	sl_tcp_done(c, c->soft_error ? c->soft_error : ETIMEDOUT);
	return false;
}

/* Events --------------------------------------------------------------------------------------- */

/* RFC 8985 7.2: two round trips, and time for a delayed ACK when only one segment is out; not after
 * the RTO. */
static uint64_t probe_timeout_us(const struct sl_tcp *c)
{
	if (!c->srtt_us)
		return 1000000;
	return 2ull * c->srtt_us +
	       (sl_tcp_pieces_out(c) == 1 ? sl_tcp_rto_min_ms(c) * 1000ull : TLP_MARGIN_US);
}

/* RFC 8985 7.2: not in recovery, nor while data are SACKed: then RACK has its own timer. */
static bool may_probe(const struct sl_tcp *c)
{
	return sl_tcp_params.tlp && c->sack_ok && c->tx_una != c->tx_nxt && !c->tlp_out &&
	       (c->ca == SL_CA_OPEN || c->ca == SL_CA_CWR) && !c->sacked_out;
}

static void schedule_tlp(struct sl_tcp *c)
{
	c->tlp_at = 0;
	if (!may_probe(c))
		return;
	c->tlp_at = sl_tcp_at(c->host->now_us + probe_timeout_us(c));
	if (c->rto_at && (int32_t)(c->rto_at - c->tlp_at) < 0)
		c->tlp_at = c->rto_at;
}

void sl_tcp_timer_on_sent(struct sl_tcp *c)
{
	if (!c->stuck_since_us || sl_tcp_pieces_out(c) == 1) /* waiting for a window is over */
		c->stuck_since_us = c->host->now_us;
	c->persist_at = 0;
	if (!c->rto_at)
		arm_rto(c);
	schedule_tlp(c);
	cover(c, c->tlp_at ? c->tlp_at : c->rto_at); /* a probe comes before the time-out */
}

void sl_tcp_timer_on_sent_again(struct sl_tcp *c)
{
	if (!c->stuck_since_us)
		c->stuck_since_us = c->host->now_us;
	c->tlp_at = 0;
	arm_rto(c);
	cover(c, c->rto_at);
}

/* The ACK ends where SACKed data begin: the peer has thrown them away, or is about to say that it
 * has them. It is given as long as by Linux (tcp_check_sack_reneging()). */
static void on_reneging(struct sl_tcp *c)
{
	uint64_t us = sl_max(c->srtt_us / 2, (uint32_t)RENEGING_US);

	if (sl_tcp_piece(c, c->tx_una)->marks & SL_TXS_SACKED)
		c->rto_at = not_beyond_user_timeout(c, c->host->now_us + us);
}

void sl_tcp_timer_on_acked(struct sl_tcp *c)
{
	c->retries = 0;
	if (c->tx_una == c->tx_nxt) {
		c->rto_at = c->tlp_at = c->reo_at = 0;
		c->stuck_since_us = 0;
		return;
	}
	c->stuck_since_us = c->host->now_us;
	arm_rto(c);
	schedule_tlp(c);
	if (!c->tlp_at && c->sacked_out)
		on_reneging(c);
	cover(c, c->tlp_at ? c->tlp_at : c->rto_at);
}

void sl_tcp_timer_on_syn(struct sl_tcp *c)
{
	if (!c->stuck_since_us)
		c->stuck_since_us = c->host->now_us;
	arm_rto(c);
	sl_tcp_timer_rearm(c);
}

/* Arms the persist timer when there is something to send and no ACK will come that would send it.
 * The cause may be the window, Nagle's rule, a cork, or a lack of room. */
void sl_tcp_timer_on_window(struct sl_tcp *c)
{
	uint64_t at;

	if (c->tx_nxt == c->tx_tail || c->tx_una != c->tx_nxt) {
		if (c->persist_at)
			c->persist_at = c->stuck_since_us = 0;
		return;
	}
	if (c->pace_at) /* only its own rate holds it up */
		return;
	/* When the window is open, if only a little, the peer is not probed but served. */
	if (!c->persist_at || c->snd_wnd)
		c->backoff = 0;
	at = c->host->now_us + probe_interval_us(c);
	if (c->persist_at && sl_tcp_at_us(c, c->persist_at) <= at)
		return;
	c->persist_at = sl_tcp_at(at);
	sl_tcp_timer_rearm(c);
}

static uint64_t keep_time_us(const struct sl_tcp *c)
{
	uint32_t ms = sl_tcp_opt(c, keep_time_ms);

	return (ms ? ms : sl_tcp_params.keepalive_time_ms) * 1000ull;
}

/* Call for an ACK of the peer: it answers probes of the window and of keepalive. */
void sl_tcp_timer_on_alive(struct sl_tcp *c)
{
	c->last_ack_us = c->host->now_us;
	c->probes = 0;
	c->keep_at = 0;
	if (!c->keepalive)
		return;
	c->keep_at = c->host->now_us + keep_time_us(c);
	sl_tcp_timer_rearm(c);
}

/* Retransmission time-out ---------------------------------------------------------------------- */

/* The retransmission timer of a SYN or SYN-ACK. These are counted, because a setting limits their
 * number (RFC 6298 5.7). A SYN's number also limits the time, to what so many would take that
 * double theirs (tcp_write_timeout()). */
static bool on_syn_timeout(struct sl_tcp *c)
{
	uint32_t n = sl_tcp_params.synack_retries;
	uint32_t linear = 0; /* so many before the time is doubled, as Linux since 6.5 */
	bool late = false;

	if (c->state == SL_TCP_SYN_SENT) {
		linear = sl_tcp_params.syn_linear_timeouts;
		n = sl_tcp_opt(c, syncnt);
		n = n ? n : sl_tcp_params.syn_retries;
		late = !sl_tcp_opt(c, user_timeout_ms) && c->retries &&
		       is_stuck_for(c, time_of_retries_from(SYN_RTO_US, n));
		n += linear;
	}
	if (c->retries >= n || late || is_user_timeout(c))
		return give_up(c, false);
	tcp_count(c->host, SL_TCPC_RTO, 1);
	sl_tcp_trouble(c)->total_rto++;
	c->retries++;
	if (c->retries > linear)
		back_off(c);
	sl_tcp_send_syn(c);
	return true;
}

/* tcp_out_of_resources(): an orphan that is hardly worth keeping counts twice. */
static unsigned unanswered(const struct sl_tcp *c, bool alive)
{
	return !alive || c->host->now_us - c->last_sent_us > 2 * (uint64_t)max_us();
}

/* True: retransmitting has been in vain for too long (tcp_write_timeout()). */
static bool is_hopeless(struct sl_tcp *c, bool *reset)
{
	uint32_t n = sl_tcp_params.retries2;

	*reset = false;
	if (!c->retries)
		return false;
	if (c->orphan) {
		bool alive = c->rto_us < max_us();

		if (sl_tcp_orphan_is_over(c, unanswered(c, alive))) {
			tcp_count(c->host, SL_TCPC_ABORT_ON_MEMORY, 1);
			*reset = true;
			return true;
		}
		n = orphan_retries(c, alive);
		*reset = alive || !is_stuck_for(c, time_of_retries(c, n));
	}
	if (sl_tcp_opt(c, user_timeout_ms))
		return is_user_timeout(c);
	return is_stuck_for(c, time_of_retries(c, n));
}

/* Reduces the segment size when packets of this size seem to get lost without a report (RFC
 * 4821). */
static void probe_mtu(struct sl_tcp *c)
{
	if (c->retries >= MTU_PROBE_FROM &&
	    (sl_tcp_params.mtu_probing || sl_tcp_params.errors_unseen))
		sl_tcp_mtup_black_hole(c);
}

/* RFC 6298 5.4 to 5.6. */
static bool on_rto(struct sl_tcp *c)
{
	bool reset;

	c->rto_at = c->tlp_at = 0;
	if (c->state == SL_TCP_SYN_SENT || c->state == SL_TCP_SYN_RCVD)
		return on_syn_timeout(c);
	if (c->tx_una == c->tx_nxt)
		return true;
	if (!c->snd_wnd && !c->orphan) {
		/* The window was taken back: these are probes now, and the peer lives if it
		 * answers. */
		uint64_t since = sl_max(c->last_ack_us, c->stuck_since_us);

		if (c->host->now_us - since > 2 * max_us() || is_user_timeout(c))
			return give_up(c, false);
	} else if (is_hopeless(c, &reset)) {
		return give_up(c, reset);
	} else {
		probe_mtu(c);
	}
	if (sl_tcp_params.retrans_collapse)
		sl_tcp_snd_pack(c);
	sl_tcp_loss_on_rto(c);
	c->retries += c->retries < UINT8_MAX;
	next_rto(c);
	arm_rto(c);
	sl_tcp_want_out(c);
	return true;
}

/* Sends the tail loss probe: new data if there are any, else the last segment again (RFC 8985
 * 7.3). */
static void on_tlp(struct sl_tcp *c)
{
	bool sent;

	c->tlp_at = 0;
	if (!may_probe(c))
		return;
	c->tlp_retrans = false;
	sent = sl_tcp_send_one(c);
	if (!sent && !(sl_tcp_piece(c, c->tx_nxt - 1)->marks & (SL_TXS_SACKED | SL_TXS_LOST))) {
		sent = sl_tcp_xmit_piece(c, c->tx_nxt - 1, true);
		c->tlp_retrans = sent;
	}
	if (sent)
		sl_tcp_loss_on_tlp(c);
	c->tlp_at = 0; /* one is enough */
	arm_rto(c);
}

/* A tail loss probe, or after a time-out the first segment
 * (draft-eggert-tcpm-tcp-retransmit-now; Linux waits for its timers). */
void sl_tcp_try_now(struct sl_tcp *c)
{
	if (c->state == SL_TCP_CLOSED || c->frozen || c->tx_una == c->tx_nxt)
		return;
	if (may_probe(c))
		c->tlp_at = sl_tcp_at(c->host->now_us);
	else if (c->retries)
		c->rto_at = sl_tcp_at(c->host->now_us);
	sl_tcp_timer_rearm(c);
}

void sl_tcp_unreachable(struct sl_tcp *c, uint32_t seq)
{
	uint64_t sent_us;

	if (c->state == SL_TCP_CLOSED || c->frozen || seq != c->snd_una || c->tx_una == c->tx_nxt ||
	    !c->retries || !c->backoff)
		return;
	c->backoff--;
	sl_tcp_rtt_set_rto(c);
	for (unsigned i = 0; i < c->backoff && c->rto_us < max_us(); i++)
		c->rto_us *= 2;
	c->rto_us = (uint32_t)sl_min((uint64_t)c->rto_us, max_us());
	sent_us = sl_tcp_piece(c, c->tx_una)->sent_us;
	c->rto_at = not_beyond_user_timeout(c, sl_max(sent_us + c->rto_us, c->host->now_us));
	sl_tcp_timer_rearm(c);
}

/* Persist, keepalive --------------------------------------------------------------------------- */

/* RFC 9293 3.8.6.1 */
static bool on_persist(struct sl_tcp *c)
{
	uint32_t most = sl_tcp_params.retries2;

	c->persist_at = 0;
	if (c->tx_nxt == c->tx_tail || c->tx_una != c->tx_nxt)
		return true;
	if (!c->stuck_since_us)
		c->stuck_since_us = c->host->now_us;
	else if (is_user_timeout(c))
		return give_up(c, false);
	if (!sl_list_empty(&c->out_node) && !c->thin) { /* it is not the peer we wait for */
		c->persist_at = not_beyond_user_timeout(c, c->host->now_us + RESOURCE_US);
		return true;
	}
	if (c->orphan) {
		bool alive = probe_interval_us(c) < max_us();

		if (sl_tcp_orphan_is_over(c, unanswered(c, true))) {
			tcp_count(c->host, SL_TCPC_ABORT_ON_MEMORY, 1);
			return give_up(c, true);
		}
		most = orphan_retries(c, alive);
		if (!alive && c->backoff >= most)
			return give_up(c, true);
	}
	if (c->probes >= most)
		return give_up(c, false);
	sl_tcp_send_persist(c);
	if (c->tx_una != c->tx_nxt) /* the RTO has it now */
		return true;
	c->probes++;
	if (c->backoff < sl_tcp_params.retries2)
		c->backoff++;
	c->persist_at = not_beyond_user_timeout(c, c->host->now_us + probe_interval_us(c));
	return true;
}

/* RFC 9293 3.8.4. While data are out, their retransmission answers the question. */
static bool on_keep(struct sl_tcp *c)
{
	uint32_t intvl_ms = sl_tcp_opt(c, keep_intvl_ms), most = sl_tcp_opt(c, keep_probes);
	uint32_t user_ms = sl_tcp_opt(c, user_timeout_ms);
	uint64_t now = c->host->now_us;

	c->keep_at = 0;
	if (!c->keepalive || c->state == SL_TCP_SYN_SENT)
		return true;
	if (c->tx_una != c->tx_tail) {
		c->keep_at = now + keep_time_us(c);
		return true;
	}
	if (!most)
		most = sl_tcp_params.keepalive_probes;
	if (user_ms ? c->probes && now - c->last_ack_us >= user_ms * 1000ull : c->probes >= most)
		return give_up(c, true);
	sl_tcp_send_probe(c, false);
	tcp_count(c->host, SL_TCPC_KEEPALIVE, 1);
	c->probes++;
	c->keep_at = now + (intvl_ms ? intvl_ms : sl_tcp_params.keepalive_intvl_ms) * 1000ull;
	return true;
}

/* Firing --------------------------------------------------------------------------------------- */

static bool is_due(const struct sl_tcp *c, uint32_t at)
{
	return at && (int32_t)(at - (uint32_t)c->host->now_us) <= 0;
}

/* The process was stopped for so long that its deadlines seem to lie ahead. */
static void all_due(struct sl_tcp *c)
{
	for (size_t i = 0; i < sl_array_len(c->deadlines); i++)
		if (c->deadlines[i])
			c->deadlines[i] = sl_tcp_at(c->host->now_us - 1);
}

static void put_off(const struct sl_tcp *c, uint32_t *at, uint64_t to_us)
{
	if (is_due(c, *at) && to_us > c->host->now_us)
		*at = sl_tcp_at(to_us);
}

/* Round trips and time-outs count from the time when a segment leaves a NIC that paces it
 * (tcp_pacing_delay()). */
static void await_nic(struct sl_tcp *c)
{
	if (c->tx_una == c->tx_nxt)
		return;
	put_off(c, &c->tlp_at, c->opts->leaves_us + probe_timeout_us(c));
	put_off(c, &c->rto_at, sl_tcp_piece(c, c->tx_una)->sent_us + c->rto_us);
}

/* False: c is gone. */
static bool fire(struct sl_tcp *c)
{
	if (sl_unlikely(c->opts && c->opts->leaves_us))
		await_nic(c);
	if (is_due(c, c->delack_at))
		sl_tcp_ack_late(c);
	if (is_due(c, c->pace_at)) {
		c->pace_at = 0;
		sl_tcp_want_out(c);
	}
	if (is_due(c, c->reo_at))
		sl_tcp_loss_on_reo_timer(c);
	if (is_due(c, c->tlp_at)) /* before the RTO, which it puts off */
		on_tlp(c);
	if (is_due(c, c->rto_at) && !on_rto(c))
		return false;
	if (is_due(c, c->persist_at) && !on_persist(c))
		return false;
	return !c->keep_at || c->keep_at > c->host->now_us || on_keep(c);
}

void sl_tcp_timer_fire(struct sl_timer *t, void *host)
{
	struct sl_tcp_node *n = sl_tcp_node_of(t);

	if (n->kind == SL_TCP_REQ) {
		sl_tcp_req_timer(host, n);
	} else if (n->kind == SL_TCP_TW) {
		sl_tcp_tw_timer(host, n);
	} else if (n->kind == SL_TCP_LATE) {
		sl_tcp_late_timer(host);
	} else {
		struct sl_tcp *c = sl_container_of(n, struct sl_tcp, node);

		if (c->state == SL_TCP_CLOSED)
			return;
		if (sl_unlikely(c->host->now_us > t->at_tick * SL_WHEEL_TICK_US + LATE_US))
			all_due(c);
		if (!fire(c))
			return;
		rest(c);
		sl_tcp_timer_rearm(c);
	}
}

uint64_t sl_tcp_run_timers(struct sl_tcp_host *h)
{
	sl_wheel_run(&h->wheel, h->now_us, sl_tcp_timer_fire, h);
	sl_tcp_flush(h);
	return sl_wheel_next_us(&h->wheel);
}
