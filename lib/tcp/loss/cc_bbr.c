/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR, version 1: what Linux calls "bbr" (draft-cardwell-iccrg-bbr-congestion-control-00, and
 * net/ipv4/tcp_bbr.c where that differs).
 *
 * Theory of operation. The rate that the path delivers (the largest sample of ten round trips) and
 * its round trip without a queue (the smallest of ten seconds) make a model. Segments are paced at
 * a gain times that rate, and cwnd is a gain times their product. STARTUP doubles the rate until it
 * no longer grows, DRAIN empties the queue that this made, PROBE_BW sends a quarter more for one
 * round trip of eight and a quarter less for the next, and PROBE_RTT shrinks the window to four
 * segments for 200 ms, once the smallest round trip is ten seconds old. A loss changes no rate, but
 * in recovery's first round trip no more is sent than arrives. A policer (much loss at an equal
 * rate) is met by sending at its rate (lt_bw). */
#include <assert.h>
#include <string.h>

#include "tcp/loss/cc.h"
#include "tcp/loss/cc_bw.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_sndq.h"

#define UNIT SL_BW_GAIN

#define HIGH_GAIN   739u /* 2 / ln 2, and 1/256: the least that doubles in a round trip */
#define DRAIN_GAIN  88u
#define CWND_GAIN   512u
#define CYCLE       8u
#define BW_ROUNDS   10u /* the filter of rates */
#define FULL_THRESH 320u
#define FULL_ROUNDS 3u

#define MIN_RTT_US   10000000ull
#define PROBE_RTT_US 200000u

#define LT_MIN_ROUNDS 4u
#define LT_MAX_ROUNDS 48u
#define LT_LOSS       50u  /* of 256: a fifth */
#define LT_NEAR       32u  /* of 256: an eighth */
#define LT_NEAR_BYTES 500u /* bytes a second */

enum mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

struct best { /* a running maximum over rounds (Kathleen Nichols' algorithm) */
	uint32_t round, bw;
};

struct bbr {
	struct best best[3]; /* the largest, and those to take its place, newer each */
	struct sl_bw_clumps clumps;
	uint64_t cycle_us, min_rtt_at_us, probe_end_us, lt_us;
	uint32_t min_rtt_us;
	uint32_t rounds, next_round; /* value of c->delivered that ends the round */
	uint32_t prior_cwnd, seen_lost;
	uint32_t full_bw;
	uint32_t lt_bw, lt_delivered, lt_lost;
	uint16_t pacing_gain, cwnd_gain;
	uint8_t mode, cycle, full_rounds, ca;
	uint8_t lt_rounds;
	bool full, round_start, conserves, idle, probe_round;
	bool lt_use, lt_sampling;
} __attribute__((may_alias));
static_assert(sizeof(struct bbr) <= SL_RATE_PRIV * sizeof(uint64_t), "private state");

static const uint16_t cycle_gain[CYCLE] = {320, 192, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT};

static struct bbr *priv(const struct sl_tcp *c)
{
	return (struct bbr *)sl_tcp_rate(c)->priv;
}

/* The model ------------------------------------------------------------------------------------ */

static uint32_t max_bw(const struct bbr *b)
{
	return b->best[0].bw;
}

static uint32_t current_bw(const struct bbr *b)
{
	return b->lt_use ? b->lt_bw : max_bw(b);
}

/* Takes a sample into the maximum of the last BW_ROUNDS rounds. */
static void take_bw(struct bbr *b, uint32_t bw)
{
	struct best s = {b->rounds, bw}, *w = b->best;
	uint32_t age;

	if (bw >= w[0].bw || s.round - w[2].round > BW_ROUNDS) {
		w[0] = w[1] = w[2] = s;
		return;
	}
	if (bw >= w[1].bw)
		w[1] = w[2] = s;
	else if (bw >= w[2].bw)
		w[2] = s;
	age = s.round - w[0].round;
	if (age > BW_ROUNDS) {
		w[0] = w[1];
		w[1] = w[2];
		w[2] = s;
		if (s.round - w[0].round > BW_ROUNDS) {
			w[0] = w[1];
			w[1] = w[2];
		}
	} else if (w[1].round == w[0].round && age > BW_ROUNDS / 4) {
		w[1] = w[2] = s; /* a quarter of the time without a second best */
	} else if (w[2].round == w[1].round && age > BW_ROUNDS / 2) {
		w[2] = s;
	}
}

static void pace(struct sl_tcp *c, const struct bbr *b, uint32_t gain)
{
	sl_bw_pace(c, current_bw(b), gain, b->full, HIGH_GAIN);
}

static uint32_t bdp(const struct bbr *b, uint32_t bw, uint32_t gain)
{
	if (b->min_rtt_us == UINT32_MAX) /* no sample yet */
		return SL_BW_FIRST_CWND;
	return sl_bw_product(bw, b->min_rtt_us, gain);
}

/* Room for bursts at both ends, and an even number: delayed ACKs cover two. */
static uint32_t with_bursts(const struct sl_tcp *c, const struct bbr *b, uint32_t w)
{
	w += 3 * sl_bw_burst(c);
	w = (w + 1) & ~1u;
	return b->mode == PROBE_BW && b->cycle == 0 ? w + 2 : w;
}

static uint32_t target(const struct sl_tcp *c, const struct bbr *b, uint32_t gain)
{
	return with_bursts(c, b, bdp(b, max_bw(b), gain));
}

/* Segments in the network when the next burst leaves. */
static uint32_t in_net(const struct sl_tcp *c, const struct bbr *b, uint32_t in_flight)
{
	if (b->pacing_gain > UNIT)
		in_flight += sl_bw_burst(c);
	return sl_bw_in_net(c, current_bw(b), in_flight);
}

/* Policers ------------------------------------------------------------------------------------- */

static void lt_restart(const struct sl_tcp *c, struct bbr *b)
{
	b->lt_us = c->delivered_us;
	b->lt_delivered = c->delivered;
	b->lt_lost = c->lost;
	b->lt_rounds = 0;
}

static void lt_reset(const struct sl_tcp *c, struct bbr *b)
{
	b->lt_bw = 0;
	b->lt_use = b->lt_sampling = false;
	lt_restart(c, b);
}

static void enter_probe_bw(const struct sl_tcp *c, struct bbr *b)
{
	uint32_t at = sl_bw_random(c);

	b->mode = PROBE_BW;
	/* Begin anywhere but at the phase that drains, so that flows do not probe together. */
	at = (uint32_t)((uint64_t)at * (CYCLE - 1) >> 32);
	b->cycle = (uint8_t)((CYCLE - at) & (CYCLE - 1));
	b->cycle_us = c->host->now_us;
}

/* An interval that began and ended with losses is over: is its rate that of the one before? */
static void lt_interval(const struct sl_tcp *c, struct bbr *b, uint32_t bw)
{
	uint32_t diff = bw > b->lt_bw ? bw - b->lt_bw : b->lt_bw - bw;

	if (b->lt_bw && ((uint64_t)diff * UNIT <= (uint64_t)LT_NEAR * b->lt_bw ||
			 sl_bw_bytes_s(c, diff, UNIT) <= LT_NEAR_BYTES)) {
		b->lt_bw = (uint32_t)(((uint64_t)bw + b->lt_bw) / 2);
		b->lt_use = true;
		b->pacing_gain = UNIT;
		b->lt_rounds = 0;
		return;
	}
	b->lt_bw = bw;
	lt_restart(c, b);
}

/* Samples while a policer's rate is not known. */
static void lt_sample(const struct sl_tcp *c, struct bbr *b, bool limited, uint32_t losses)
{
	uint32_t lost, delivered;
	uint64_t us;

	if (!b->lt_sampling) {
		if (!losses) /* the policer has tokens left */
			return;
		lt_restart(c, b);
		b->lt_sampling = true;
	}
	if (limited) {
		lt_reset(c, b);
		return;
	}
	b->lt_rounds += b->round_start;
	if (b->lt_rounds < LT_MIN_ROUNDS)
		return;
	if (b->lt_rounds > 4 * LT_MIN_ROUNDS) {
		lt_reset(c, b);
		return;
	}
	lost = c->lost - b->lt_lost;
	delivered = c->delivered - b->lt_delivered;
	if (!losses || !delivered || (uint64_t)lost << 8 < (uint64_t)LT_LOSS * delivered)
		return;
	us = c->delivered_us - b->lt_us;
	if (us >= 1000)
		lt_interval(c, b,
			    (uint32_t)sl_min(delivered * SL_BW_UNIT / us, (uint64_t)UINT32_MAX));
}

static void police(const struct sl_tcp *c, struct bbr *b, bool limited, uint32_t losses)
{
	if (!b->lt_use) {
		lt_sample(c, b, limited, losses);
	} else if (b->mode == PROBE_BW && b->round_start && ++b->lt_rounds >= LT_MAX_ROUNDS) {
		lt_reset(c, b);
		enter_probe_bw(c, b);
	}
}

/* Each ACK ------------------------------------------------------------------------------------- */

static void update_bw(struct sl_tcp *c, struct bbr *b, const struct sl_rate_sample *s,
		      uint32_t losses)
{
	uint32_t bw;

	b->round_start = false;
	if (!s->interval_us)
		return;
	if ((int32_t)(s->prior_delivered - b->next_round) >= 0) {
		b->next_round = c->delivered;
		b->rounds++;
		b->round_start = true;
		b->conserves = false;
	}
	police(c, b, s->app_limited, losses);
	bw = sl_bw_sample(s);
	if (!s->app_limited || bw >= max_bw(b))
		take_bw(b, bw);
}

/* True: the phase of PROBE_BW is over. in_flight: before the ACK. */
static bool phase_is_over(const struct sl_tcp *c, const struct bbr *b, uint32_t in_flight,
			  uint32_t losses)
{
	bool full_length = c->host->now_us - b->cycle_us > b->min_rtt_us;

	if (b->pacing_gain == UNIT)
		return full_length;
	in_flight = in_net(c, b, in_flight);
	if (b->pacing_gain > UNIT) /* a loss: the path holds no more */
		return full_length && (losses || in_flight >= target(c, b, b->pacing_gain));
	return full_length || in_flight <= target(c, b, UNIT);
}

/* Three round trips without a quarter more: the path is full. */
static void check_full(struct bbr *b, const struct sl_rate_sample *s)
{
	if (b->full || !b->round_start || s->app_limited)
		return;
	if (max_bw(b) >= (uint64_t)b->full_bw * FULL_THRESH >> 8) {
		b->full_bw = max_bw(b);
		b->full_rounds = 0;
		return;
	}
	b->full = ++b->full_rounds >= FULL_ROUNDS;
}

static void check_drain(struct sl_tcp *c, struct bbr *b)
{
	if (b->mode == STARTUP && b->full) {
		b->mode = DRAIN;
		c->ssthresh = target(c, b, UNIT);
	}
	if (b->mode == DRAIN && in_net(c, b, sl_tcp_in_flight(c)) <= target(c, b, UNIT))
		enter_probe_bw(c, b);
}

static void save_cwnd(const struct sl_tcp *c, struct bbr *b)
{
	if (b->ca < SL_CA_RECOVERY && b->mode != PROBE_RTT)
		b->prior_cwnd = c->cwnd;
	else /* it may be a reduced one */
		b->prior_cwnd = sl_max(b->prior_cwnd, c->cwnd);
}

static void leave_probe_rtt(struct sl_tcp *c, struct bbr *b)
{
	if (!b->probe_end_us || c->host->now_us <= b->probe_end_us)
		return;
	b->min_rtt_at_us = c->host->now_us;
	c->cwnd = sl_max(c->cwnd, b->prior_cwnd);
	if (b->full)
		enter_probe_bw(c, b);
	else
		b->mode = STARTUP;
}

static void stay_in_probe_rtt(struct sl_tcp *c, struct bbr *b)
{
	uint32_t in_flight = sl_tcp_in_flight(c);

	/* Low rates of this time say nothing about the path. */
	sl_tcp_rate(c)->app_limited = sl_max(c->delivered + in_flight, 1u);
	if (!b->probe_end_us) {
		if (in_flight > SL_BW_MIN_CWND)
			return;
		b->probe_end_us = c->host->now_us + PROBE_RTT_US;
		b->probe_round = false;
		b->next_round = c->delivered;
		return;
	}
	b->probe_round |= b->round_start;
	if (b->probe_round)
		leave_probe_rtt(c, b);
}

static void update_min_rtt(struct sl_tcp *c, struct bbr *b, uint32_t rtt_us, bool arrived)
{
	uint64_t now = c->host->now_us;
	bool old = now > b->min_rtt_at_us + MIN_RTT_US;
	bool delayed = c->snd_sml == c->snd_una; /* the peer may have held its ACK back */

	if (rtt_us && (rtt_us <= b->min_rtt_us || (old && !delayed))) {
		b->min_rtt_us = rtt_us;
		b->min_rtt_at_us = now;
	}
	if (old && !b->idle && b->mode != PROBE_RTT) {
		save_cwnd(c, b);
		b->mode = PROBE_RTT;
		b->probe_end_us = 0;
	}
	if (b->mode == PROBE_RTT)
		stay_in_probe_rtt(c, b);
	if (arrived)
		b->idle = false;
}

static void set_gains(struct bbr *b)
{
	switch ((enum mode)b->mode) {
	case STARTUP:
		b->pacing_gain = b->cwnd_gain = HIGH_GAIN;
		break;
	case DRAIN:
		b->pacing_gain = DRAIN_GAIN;
		b->cwnd_gain = HIGH_GAIN;
		break;
	case PROBE_BW:
		b->pacing_gain = b->lt_use ? UNIT : cycle_gain[b->cycle];
		b->cwnd_gain = CWND_GAIN;
		break;
	case PROBE_RTT:
		b->pacing_gain = b->cwnd_gain = UNIT;
	}
}

/* The window ----------------------------------------------------------------------------------- */

/* Recovery begins: as much as arrives, for a round trip. It ends: the window from before it. */
static uint32_t recover(struct sl_tcp *c, struct bbr *b, uint32_t acked, uint32_t losses)
{
	uint32_t cwnd = c->cwnd > losses ? c->cwnd - losses : 1;
	uint32_t conserved = sl_tcp_in_flight(c) + acked;

	if (c->ca == SL_CA_RECOVERY && b->ca != SL_CA_RECOVERY) {
		b->conserves = true;
		b->next_round = c->delivered;
		cwnd = conserved;
	} else if (b->ca >= SL_CA_RECOVERY && c->ca < SL_CA_RECOVERY) {
		b->conserves = false;
		cwnd = sl_max(cwnd, b->prior_cwnd);
	}
	b->ca = c->ca;
	return b->conserves ? sl_max(cwnd, conserved) : cwnd;
}

static void set_cwnd(struct sl_tcp *c, struct bbr *b, uint32_t acked, uint32_t losses)
{
	uint32_t goal, cwnd;

	if (acked) {
		cwnd = recover(c, b, acked, losses);
		if (!b->conserves) {
			goal = bdp(b, current_bw(b), b->cwnd_gain);
			if (b->full)
				goal += sl_bw_clumps_most(&b->clumps, current_bw(b));
			goal = with_bursts(c, b, goal);
			if (b->full)
				cwnd = sl_min(cwnd + acked, goal);
			else if (cwnd < goal || c->delivered < SL_BW_FIRST_CWND)
				cwnd += acked;
			cwnd = sl_max(cwnd, SL_BW_MIN_CWND);
		}
		c->cwnd = cwnd;
		sl_tcp_cap_cwnd(c);
	}
	if (b->mode == PROBE_RTT)
		c->cwnd = sl_min(c->cwnd, SL_BW_MIN_CWND);
}

static void bbr_on_ack(struct sl_tcp *c, uint32_t acked, uint32_t rtt_us)
{
	struct sl_rate_sample s = sl_tcp_rate_on_ack(c, acked);
	struct bbr *b = priv(c);
	uint32_t losses = c->lost - b->seen_lost;

	b->seen_lost = c->lost;
	update_bw(c, b, &s, losses);
	if (acked && s.interval_us)
		sl_bw_clumps_take(&b->clumps, c, current_bw(b), acked,
				  b->round_start ? SL_BW_CLUMP_ROUNDS : 0);
	if (b->mode == PROBE_BW &&
	    phase_is_over(c, b, sl_tcp_in_flight(c) + acked + losses, losses)) {
		b->cycle = (b->cycle + 1) & (CYCLE - 1);
		b->cycle_us = c->host->now_us;
	}
	check_full(b, &s);
	check_drain(c, b);
	update_min_rtt(c, b, rtt_us, s.delivered);
	set_gains(b);
	pace(c, b, b->pacing_gain);
	set_cwnd(c, b, acked, losses);
}

/* Events --------------------------------------------------------------------------------------- */

static void bbr_init(struct sl_tcp *c)
{
	uint64_t now = c->host->now_us;
	struct bbr *b = priv(c);

	memset(b, 0, sizeof(*b));
	c->ssthresh = SL_TCP_INFINITE_SSTHRESH;
	b->min_rtt_us = c->min_rtt_us ? c->min_rtt_us : UINT32_MAX;
	b->min_rtt_at_us = b->cycle_us = now;
	sl_bw_clumps_restart(&b->clumps, now);
	b->seen_lost = c->lost;
	b->next_round = c->delivered;
	lt_reset(c, b);
	set_gains(b);
	sl_bw_first_pace(c, HIGH_GAIN);
}

/* RACK's timer and the time-out may have marked segments as lost since the last ACK: this ACK does
 * not count them. */
static void bbr_on_any_ack(struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	priv(c)->seen_lost = c->lost;
}

static uint32_t bbr_ssthresh(struct sl_tcp *c)
{
	save_cwnd(c, priv(c));
	return c->ssthresh;
}

static void bbr_on_rto(struct sl_tcp *c)
{
	struct bbr *b = priv(c);

	b->ca = SL_CA_LOSS;
	b->full_bw = 0;
	b->round_start = true; /* a time-out ends a round */
	police(c, b, false, 1);
}

static uint32_t bbr_undo_cwnd(struct sl_tcp *c)
{
	struct bbr *b = priv(c);

	b->full_bw = 0;
	b->full_rounds = 0;
	lt_reset(c, b);
	return c->cwnd;
}

/* After a silence the rate is the path's, not a gain's: there is no queue to fill or to drain. */
static void bbr_on_idle(struct sl_tcp *c)
{
	struct bbr *b = priv(c);

	if (!sl_tcp_rate(c)->app_limited)
		return;
	b->idle = true;
	sl_bw_clumps_restart(&b->clumps, c->host->now_us);
	if (b->mode == PROBE_BW)
		pace(c, b, UNIT);
	else if (b->mode == PROBE_RTT)
		leave_probe_rtt(c, b);
}

static uint32_t bbr_info(const struct sl_tcp *c, union tcp_cc_info *info)
{
	const struct bbr *b = priv(c);

	info->bbr.bbr_min_rtt = b->min_rtt_us;
	info->bbr.bbr_pacing_gain = b->pacing_gain;
	info->bbr.bbr_cwnd_gain = b->cwnd_gain;
	return sl_bw_info(c, current_bw(b), &info->bbr);
}

const struct sl_cc sl_cc_bbr = {
	.name = "bbr",
	.init = bbr_init,
	.on_ack = bbr_on_ack,
	.on_any_ack = bbr_on_any_ack,
	.ssthresh = bbr_ssthresh,
	.on_rto = bbr_on_rto,
	.undo_cwnd = bbr_undo_cwnd,
	.on_idle = bbr_on_idle,
	.controls = true,
	.info = bbr_info,
};
