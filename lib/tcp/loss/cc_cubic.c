/* SPDX-License-Identifier: BSD-2-Clause */
/* CUBIC (RFC 9438), the default, with HyStart++ (RFC 9406) in the first slow start.
 *
 * Theory of operation. After a reduction the window grows as W(t) = C (t - K)^3 + W_max, where t is
 * the time since the epoch began (the first ACK in avoidance), W_max the window that was too large,
 * K = cbrt((W_max - cwnd) / C). Windows are kept here in 1/1024 segment and times in 1/1024 s, so
 * that no division is needed for an ACK; C = 0.4 is 410/1024, beta = 0.7 is 717/1024. Time in which
 * the program did not use the window does not count: the epoch is moved by it (4.2). */
#include <assert.h>
#include <string.h>

#include "tcp/loss/cc.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_opts.h"
#include "tcp/tcp_trouble.h"

#define SHIFT       10 /* of windows and times */
#define C_SCALED    410u
#define BETA_SCALED 717u
/* alpha = 3 (1 - beta) / (1 + beta) = 9/17: as fast as Reno on average (4.3) */
#define ALPHA_SCALED 542u
#define FEW          32u
#define EST_STEP     128u /* W_est grows in eighths of a segment */

#define MIN_RTT_THRESH_US  4000u /* RFC 9406 4.3 */
#define MAX_RTT_THRESH_US  16000u
#define N_RTT_SAMPLE       8
#define CSS_GROWTH_DIVISOR 4
#define CSS_ROUNDS         5

struct cubic {
	uint64_t epoch_us; /* 0: the next ACK in avoidance begins one */
	uint64_t last_us;  /* of the last ACK */
	union {
		struct { /* until the first reduction */
			uint32_t round_end;
			uint32_t last_min_us, min_us; /* RTT of a round; 0: none */
			uint32_t css_base_us;
		};
		struct { /* after it: to undo it (4.9) */
			uint64_t old_epoch_us;
			uint32_t old_w_max, old_k, old_w_est, old_w_prior;
		};
	};
	uint32_t w_max;   /* segments */
	uint32_t w_prior; /* cwnd before the last reduction */
	uint32_t k;       /* 1/1024 s */
	uint32_t w_est;   /* 1/1024 segment */
	uint32_t est_cnt;
	uint8_t hystart; /* 0 off, 1 slow start, 2 CSS */
	uint8_t samples, css_rounds;
	bool saved; /* old_* are set */
} __attribute__((may_alias));
static_assert(sizeof(struct cubic) <= SL_CC_PRIV * sizeof(uint64_t), "private state");

static struct cubic *priv(struct sl_tcp *c)
{
	return (struct cubic *)c->cc_priv;
}

/* Largest r with r^3 <= x, for r below 2^21. */
static uint32_t cube_root(uint64_t x)
{
	uint64_t r = 0;

	for (int bit = 20; bit >= 0; bit--) {
		uint64_t t = r | 1ull << bit;

		if (t * t * t <= x)
			r = t;
	}
	return (uint32_t)r;
}

/* Converts microseconds to 1/1024 s. */
static uint64_t scaled_time(uint64_t us)
{
	return us * 1099512 >> 30;
}

static void cubic_init(struct sl_tcp *c)
{
	struct cubic *q = priv(c);

	memset(q, 0, sizeof(*q));
	q->hystart = c->ssthresh == SL_TCP_INFINITE_SSTHRESH;
	q->round_end = c->snd_nxt;
	c->cwnd_cnt = 0;
}

/* HyStart++ ----------------------------------------------------------------------------------- */

static void hystart_new_round(struct sl_tcp *c, struct cubic *q)
{
	q->round_end = c->snd_nxt;
	q->last_min_us = q->min_us;
	q->min_us = 0;
	q->samples = 0;
	if (q->hystart == 2 && ++q->css_rounds >= CSS_ROUNDS) {
		c->ssthresh = c->cwnd;
		q->hystart = 0;
	}
}

/* Ends slow start when the round trip has become longer, with conservative slow start first (RFC
 * 9406 4.2). */
static void hystart_sample(struct cubic *q, uint32_t rtt_us)
{
	uint32_t thresh;

	if (!q->min_us || rtt_us < q->min_us)
		q->min_us = rtt_us;
	if (q->samples < N_RTT_SAMPLE)
		q->samples++;
	if (q->samples < N_RTT_SAMPLE)
		return;
	if (q->hystart == 2) {
		if (q->min_us < q->css_base_us) /* it was jitter */
			q->hystart = 1;
		return;
	}
	if (!q->last_min_us)
		return;
	thresh = q->last_min_us / 8;
	if (thresh < MIN_RTT_THRESH_US)
		thresh = MIN_RTT_THRESH_US;
	if (thresh > MAX_RTT_THRESH_US)
		thresh = MAX_RTT_THRESH_US;
	if (q->min_us >= q->last_min_us + thresh) {
		q->hystart = 2;
		q->css_base_us = q->min_us;
		q->css_rounds = 0;
	}
}

/* Grows by slow start; returns the acknowledged segments that are left for avoidance. */
static uint32_t grow_slow_start(struct sl_tcp *c, struct cubic *q, uint32_t acked, uint32_t rtt_us)
{
	if (!q->hystart)
		return sl_cc_slow_start(c, acked);
	if (sl_seq_ge(c->snd_una, q->round_end))
		hystart_new_round(c, q);
	if (rtt_us && q->hystart)
		hystart_sample(q, rtt_us);
	if (q->hystart != 2)
		return sl_cc_slow_start(c, acked);
	c->cwnd_cnt += acked;
	acked = c->cwnd_cnt / CSS_GROWTH_DIVISOR;
	c->cwnd_cnt %= CSS_GROWTH_DIVISOR;
	return sl_cc_slow_start(c, acked);
}

/* Avoidance ----------------------------------------------------------------------------------- */

static void begin_epoch(struct sl_tcp *c, struct cubic *q, uint64_t now)
{
	q->epoch_us = now;
	q->w_est = c->cwnd << SHIFT;
	q->est_cnt = 0;
	c->cwnd_cnt = 0;
	if (c->cwnd < q->w_max) {
		/* (W_max - cwnd) / 0.4, times 1024^3 */
		q->k = cube_root(((uint64_t)(q->w_max - c->cwnd) * 5 / 2) << (3 * SHIFT));
	} else {
		q->k = 0;
		q->w_max = c->cwnd;
	}
}

/* W_cubic at t (1/1024 s after the epoch began), in 1/1024 segment. */
static uint64_t w_cubic(const struct cubic *q, uint64_t t)
{
	uint64_t w = (uint64_t)q->w_max << SHIFT;
	uint64_t d = t > q->k ? t - q->k : q->k - t;
	uint64_t cube;

	if (d > 200000) /* minutes: as good as infinite; below, nothing overflows */
		d = 200000;
	cube = C_SCALED * d * d * d >> (3 * SHIFT);
	if (t > q->k)
		return w + cube;
	return w > cube ? w - cube : 0;
}

/* Grows the window that Reno would have by now (4.3). At w_prior it would become as fast as Reno
 * for good; Linux does not, and a connection of ours would take more than its part from one of
 * Linux. So only few segments grow like that, whose losses are hardly their own queue's. */
static void grow_w_est(struct sl_tcp *c, struct cubic *q, uint32_t acked)
{
	bool recovered = q->w_est >> SHIFT >= q->w_prior;
	uint32_t alpha = recovered && c->cwnd < FEW ? 1u << SHIFT : ALPHA_SCALED;
	uint32_t step = c->cwnd * EST_STEP;

	q->est_cnt += acked * alpha;
	for (; q->est_cnt >= step; q->est_cnt -= step)
		q->w_est += EST_STEP;
}

static void grow_avoidance(struct sl_tcp *c, struct cubic *q, uint32_t acked)
{
	uint64_t now = c->host->now_us, t, target, cwnd, credit;

	if (!q->epoch_us)
		begin_epoch(c, q, now);
	grow_w_est(c, q, acked);
	t = scaled_time(now - q->epoch_us);
	if (w_cubic(q, t) < q->w_est) {
		if (q->w_est >> SHIFT > c->cwnd)
			c->cwnd = q->w_est >> SHIFT;
		return;
	}
	/* 4.4, 4.5: (target - cwnd) / cwnd for each segment, target being where the curve is a
	 * round trip from now, and at most 1.5 cwnd. */
	cwnd = (uint64_t)c->cwnd << SHIFT;
	target = w_cubic(q, t + scaled_time(c->srtt_us));
	if (target <= cwnd)
		return;
	if (target > cwnd + cwnd / 2)
		target = cwnd + cwnd / 2;
	credit = c->cwnd_cnt + acked * (target - cwnd);
	for (; credit >= cwnd; credit -= cwnd)
		c->cwnd++;
	c->cwnd_cnt = (uint32_t)credit;
}

static void cubic_on_ack(struct sl_tcp *c, uint32_t acked, uint32_t rtt_us)
{
	struct cubic *q = priv(c);
	uint64_t now = c->host->now_us;
	bool limited = sl_cc_is_limited(c);

	if (!limited && q->epoch_us)
		q->epoch_us += now - q->last_us;
	q->last_us = now;
	if (!limited)
		return;
	if (sl_cc_in_slow_start(c))
		acked = grow_slow_start(c, q, acked, rtt_us);
	if (acked && !sl_cc_in_slow_start(c)) {
		grow_avoidance(c, q, acked);
		sl_tcp_cap_cwnd(c);
	}
}

/* Reductions ---------------------------------------------------------------------------------- */

static uint32_t cubic_ssthresh(struct sl_tcp *c)
{
	struct cubic *q = priv(c);
	uint32_t w = (uint32_t)((uint64_t)c->cwnd * BETA_SCALED >> SHIFT);

	q->old_epoch_us = q->epoch_us;
	q->old_w_max = q->w_max;
	q->old_k = q->k;
	q->old_w_est = q->w_est;
	q->old_w_prior = q->w_prior;
	q->saved = true;
	q->hystart = 0;

	/* 4.7, fast convergence: there are others now, leave them more. */
	if (c->cwnd < q->w_max)
		q->w_max = (uint32_t)((uint64_t)c->cwnd * ((1u << SHIFT) + BETA_SCALED) >>
				      (SHIFT + 1));
	else
		q->w_max = c->cwnd;
	q->w_prior = c->cwnd;
	q->epoch_us = 0;
	return w > 2 ? w : 2;
}

/* After an RTO avoidance begins with K = 0 and W_max = cwnd (4.8). */
static void cubic_on_rto(struct sl_tcp *c)
{
	struct cubic *q = priv(c);

	q->w_max = 0;
	q->epoch_us = 0;
}

static uint32_t cubic_undo_cwnd(struct sl_tcp *c)
{
	struct cubic *q = priv(c);

	if (q->saved) {
		q->epoch_us = q->old_epoch_us;
		q->w_max = q->old_w_max;
		q->k = q->old_k;
		q->w_est = q->old_w_est;
		q->w_prior = q->old_w_prior;
		q->saved = false;
	}
	return sl_max(c->cwnd, sl_tcp_trouble(c)->prior_cwnd);
}

static void cubic_on_idle(struct sl_tcp *c)
{
	struct cubic *q = priv(c);

	if (q->epoch_us)
		q->epoch_us += c->host->now_us - q->last_us;
	q->last_us = c->host->now_us;
}

const struct sl_cc sl_cc_cubic = {
	.name = "cubic",
	.init = cubic_init,
	.on_ack = cubic_on_ack,
	.ssthresh = cubic_ssthresh,
	.on_rto = cubic_on_rto,
	.undo_cwnd = cubic_undo_cwnd,
	.on_idle = cubic_on_idle,
};
