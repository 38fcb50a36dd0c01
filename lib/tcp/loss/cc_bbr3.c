/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR, version 3 (draft-ietf-ccwg-bbr; names in parentheses are the draft's).
 *
 * Theory of operation. As version 1 (cc_bbr.c) it makes a model of the path out of the largest
 * delivery rate and the smallest round trip. Unlike version 1 it takes losses for what they say.
 * While it looks for more (STARTUP, REFILL, UP) a loss of more than 2 % within a round trip says
 * how much the path holds (hi_segs). At other times losses mean that others need room: the rate and
 * the window follow what is delivered now (lo_bw, lo_segs), until REFILL forgets that.
 *
 * A cycle of looking for more is DOWN (a tenth less, until the queue is gone and there is room for
 * others), CRUISE (two to three seconds, or as many round trips as Reno would need), REFILL (a
 * round trip at the path's rate), UP (a quarter more, until the rate does not grow or too much is
 * lost). After five seconds without a smaller round trip PROBE_RTT halves the window for 200 ms.
 *
 * The draft leaves ECN open, but for this: a mark is congestion. Here an echo counts as a loss that
 * is too large for a phase that looks for more. */
#include <assert.h>
#include <string.h>

#include "tcp/loss/cc.h"
#include "tcp/loss/cc_bw.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_marks.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_sndq.h"

#define UNIT SL_BW_GAIN
#define NONE UINT32_MAX

#define FULL_THRESH   320u /* a rate grows if it is a quarter more */
#define FULL_ROUNDS   3u
#define FULL_RANGES   6u /* lost in a round trip of STARTUP */
#define DRAIN_ROUNDS  3u
#define LOSS_PART     50u  /* a fiftieth */
#define BETA          179u /* 0.7 */
#define HEADROOM      38u  /* 0.15 */
#define RENO_ROUNDS   63u
#define MOST_UP       30u
#define WAIT_US       2000000u
#define MIN_RTT_US    10000000ull
#define PROBE_RTT_US  5000000ull
#define PROBE_LAST_US 200000u

enum state { STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT, STATES };

/* An arrival tells of: nothing special; REFILL; UP, from its second round trip on; what UP has
 * left. */
enum phase { INIT, REFILLING, STARTING, FEEDBACK, STOPPING };

static const struct {
	uint16_t pacing, cwnd;
} gains[STATES] = {
	[STARTUP] = {709, 512},   [DRAIN] = {128, 512},  [DOWN] = {230, 512},
	[CRUISE] = {256, 512},    [REFILL] = {256, 512}, [UP] = {320, 576},
	[PROBE_RTT] = {256, 128},
};

struct bbr3 {
	struct sl_bw_clumps clumps;
	uint64_t cycle_us, min_rtt_at_us, short_rtt_at_us;
	uint64_t probe_end_us;             /* of PROBE_RTT; 0: the window is not small enough yet */
	uint32_t best_bw[2];               /* of the last cycle and this one */
	uint32_t lo_bw, lo_segs, hi_segs;  /* NONE: no bound */
	uint32_t round_bw, round_segs;     /* the most that was delivered in a round trip */
	uint32_t full_bw;                  /* a rate to grow beyond */
	uint32_t min_rtt_us, short_rtt_us; /* of ten seconds, of five */
	uint32_t rounds, next_round, loss_round; /* values of c->delivered that end rounds */
	uint32_t drain_round, wait_us, prior_cwnd;
	uint32_t up_acked, up_step; /* hi_segs grows by one for so many acknowledged */
	uint32_t undo_lo_bw, undo_lo_segs, undo_hi_segs;
	uint32_t lost_end; /* where the last lost piece ends */
	uint8_t state, undo_state, phase, ca;
	uint8_t full_rounds, up_rounds, probe_rounds, ranges;
	bool full, full_now, round_start, loss_round_start;
	bool lossy, loss_began; /* a loss in this round; the first of it since the last ACK */
	bool sampled, too_high, cautious, marked;
	bool idle, short_rtt_old, probe_round;
} __attribute__((may_alias));
static_assert(sizeof(struct bbr3) <= SL_RATE_PRIV * sizeof(uint64_t), "private state");

/* An ACK, and what it says of the path. */
struct look {
	struct sl_rate_sample s;
	uint32_t bw, acked;
};

static struct bbr3 *priv(const struct sl_tcp *c)
{
	return (struct bbr3 *)sl_tcp_rate(c)->priv;
}

/* The model ------------------------------------------------------------------------------------ */

static uint32_t max_bw(const struct bbr3 *b)
{
	return sl_max(b->best_bw[0], b->best_bw[1]);
}

static uint32_t current_bw(const struct bbr3 *b)
{
	return sl_min(max_bw(b), b->lo_bw);
}

static bool is_in_cycle(const struct bbr3 *b)
{
	return b->state >= DOWN && b->state <= UP;
}

static bool looks_for_more(const struct bbr3 *b)
{
	return b->state == STARTUP || b->state == REFILL || b->state == UP;
}

static uint32_t part_of(uint32_t x, uint32_t part)
{
	return (uint32_t)((uint64_t)x * part >> 8);
}

static uint32_t bdp(const struct bbr3 *b, uint32_t bw, uint32_t gain)
{
	if (b->min_rtt_us == NONE)
		return SL_BW_FIRST_CWND;
	return sl_bw_product(bw, b->min_rtt_us, gain);
}

/* With room for bursts: in the sender, in its device, and in the receiver (QuantizationBudget). */
static uint32_t with_bursts(const struct sl_tcp *c, const struct bbr3 *b, uint32_t w)
{
	w = sl_max(w, 3 * sl_bw_burst(c));
	w = sl_max(w, SL_BW_MIN_CWND);
	return b->state == UP ? w + 2 : w;
}

static uint32_t in_net(const struct sl_tcp *c, const struct bbr3 *b)
{
	return sl_bw_in_net(c, current_bw(b), sl_tcp_in_flight(c));
}

/* Room is left for others. */
static uint32_t hi_with_headroom(const struct bbr3 *b)
{
	uint32_t room = sl_max(part_of(b->hi_segs, HEADROOM), 1u);

	if (b->hi_segs == NONE)
		return NONE;
	return b->hi_segs > room + SL_BW_MIN_CWND ? b->hi_segs - room : SL_BW_MIN_CWND;
}

static uint32_t probe_rtt_cwnd(const struct bbr3 *b)
{
	return sl_max(bdp(b, current_bw(b), gains[PROBE_RTT].cwnd), SL_BW_MIN_CWND);
}

static void start_round(const struct sl_tcp *c, struct bbr3 *b)
{
	b->next_round = c->delivered;
}

static void reset_full(struct bbr3 *b, uint32_t bw)
{
	b->full_bw = bw;
	b->full_rounds = 0;
	b->full_now = false;
}

static void reset_lo(struct bbr3 *b)
{
	b->lo_bw = b->lo_segs = NONE;
}

static void pace(struct sl_tcp *c, const struct bbr3 *b, uint32_t gain)
{
	sl_bw_pace(c, current_bw(b), gain, b->full, gains[STARTUP].pacing);
}

static void save_cwnd(const struct sl_tcp *c, struct bbr3 *b)
{
	if (b->ca < SL_CA_RECOVERY && b->state != PROBE_RTT)
		b->prior_cwnd = c->cwnd;
	else
		b->prior_cwnd = sl_max(b->prior_cwnd, c->cwnd);
}

/* States --------------------------------------------------------------------------------------- */

static void start_down(const struct sl_tcp *c, struct bbr3 *b)
{
	uint32_t random = sl_bw_random(c);

	b->lossy = false;
	b->round_bw = b->round_segs = 0;
	b->up_step = NONE;
	b->probe_rounds = random & 1;
	b->wait_us = WAIT_US + (uint32_t)((uint64_t)random * (WAIT_US / 2) >> 32);
	b->cycle_us = c->host->now_us;
	b->phase = STOPPING;
	start_round(c, b);
	b->state = DOWN;
}

static void start_refill(const struct sl_tcp *c, struct bbr3 *b)
{
	reset_lo(b);
	b->up_rounds = 0;
	b->up_acked = 0;
	b->cautious = false;
	b->phase = REFILLING;
	start_round(c, b);
	b->state = REFILL;
}

/* hi_segs grows twice as fast in each round trip of UP (RaiseInflightLongtermSlope). */
static void raise_slope(const struct sl_tcp *c, struct bbr3 *b)
{
	b->up_step = sl_max(c->cwnd >> b->up_rounds, 1u);
	b->up_rounds = (uint8_t)sl_min(b->up_rounds + 1u, MOST_UP);
}

static void start_up(const struct sl_tcp *c, struct bbr3 *b, uint32_t bw)
{
	b->sampled = true;
	b->phase = STARTING;
	start_round(c, b);
	reset_full(b, bw);
	b->state = UP;
	raise_slope(c, b);
}

/* Losses --------------------------------------------------------------------------------------- */

/* More than 2 % of what was in flight (IsInflightTooHigh). */
static bool is_too_high(const struct sl_tcp *c, uint32_t lost, uint32_t in_flight)
{
	return (uint64_t)lost * LOSS_PART > in_flight || (lost && !c->sack_ok);
}

/* The path does not hold that much: once for each time that it was tried (HandleInflightTooHigh).
 */
static void too_high(const struct sl_tcp *c, struct bbr3 *b, uint32_t in_flight, bool limited)
{
	uint32_t aim = sl_min(bdp(b, current_bw(b), UNIT), c->cwnd);

	b->too_high = true;
	b->sampled = false;
	if (!limited)
		b->hi_segs = sl_max(in_flight, part_of(aim, BETA));
	if (b->state == UP) {
		b->undo_state = UP;
		start_down(c, b);
	}
}

/* The first loss of a round trip may turn out to be none. What the losses of one recovery have
 * changed is undone as a whole. */
static void note_loss(const struct sl_tcp *c, struct bbr3 *b)
{
	if (b->lossy)
		return;
	b->lossy = b->loss_began = true;
	if (c->ca >= SL_CA_RECOVERY)
		return;
	save_cwnd(c, b);
	b->undo_state = STATES;
	b->undo_lo_bw = b->lo_bw;
	b->undo_lo_segs = b->lo_segs;
	b->undo_hi_segs = b->hi_segs;
}

/* A piece is one segment: of the path it fills less than itself (InflightAtLoss). */
static void bbr3_on_lost(struct sl_tcp *c, const struct sl_txseg *p)
{
	struct bbr3 *b = priv(c);

	note_loss(c, b);
	if (p->seq != b->lost_end && b->ranges < UINT8_MAX)
		b->ranges++;
	b->lost_end = piece_end(p);
	if (b->sampled && is_too_high(c, c->lost - p->lost, p->in_flight))
		too_high(c, b, p->in_flight - 1, sl_tcp_rate_is_limited(p));
}

/* At the end of a round trip with a loss (AdaptLowerBoundsFromCongestion). */
static void adapt_lo(const struct sl_tcp *c, struct bbr3 *b)
{
	if (looks_for_more(b) || !b->lossy)
		return;
	if (b->lo_bw == NONE)
		b->lo_bw = max_bw(b);
	if (b->lo_segs == NONE)
		b->lo_segs = c->cwnd;
	b->lo_bw = sl_max(b->round_bw, part_of(b->lo_bw, BETA));
	b->lo_segs = sl_max(b->round_segs, part_of(b->lo_segs, BETA));
}

/* Each ACK ------------------------------------------------------------------------------------- */

static void take_bw(const struct sl_tcp *c, struct bbr3 *b, const struct look *l)
{
	b->round_start = false;
	if (!l->s.interval_us)
		return;
	if ((int32_t)(l->s.prior_delivered - b->next_round) >= 0) {
		start_round(c, b);
		b->rounds++;
		b->probe_rounds += b->probe_rounds < UINT8_MAX;
		b->round_start = true;
	}
	if (l->bw >= max_bw(b) || !l->s.app_limited)
		b->best_bw[1] = sl_max(b->best_bw[1], l->bw);
}

/* Follows how much a round trip delivers, and sees the end of a round trip that was watched for
 * losses. */
static void take_signals(const struct sl_tcp *c, struct bbr3 *b, const struct look *l)
{
	b->loss_round_start = false;
	if (b->marked)
		note_loss(c, b);
	if (b->marked && b->sampled)
		too_high(c, b, l->s.in_flight, l->s.app_limited);
	b->marked = false;
	if (b->loss_began)
		b->loss_round = c->delivered;
	b->loss_began = false;
	if (!l->s.interval_us || !l->acked)
		return;
	b->round_bw = sl_max(b->round_bw, l->bw);
	b->round_segs = sl_max(b->round_segs, l->s.delivered);
	if ((int32_t)(l->s.prior_delivered - b->loss_round) >= 0) {
		b->loss_round = c->delivered;
		b->loss_round_start = true;
	}
}

static void check_full(struct bbr3 *b, const struct look *l)
{
	if (b->full_now || !b->round_start || l->s.app_limited)
		return;
	if (l->bw >= (uint64_t)b->full_bw * FULL_THRESH >> 8) {
		reset_full(b, l->bw);
		return;
	}
	b->full_now = ++b->full_rounds >= FULL_ROUNDS;
	b->full |= b->full_now;
}

/* STARTUP ends by losses, too: after a round trip of recovery with holes in many places. */
static void check_startup(const struct sl_tcp *c, struct bbr3 *b, const struct look *l)
{
	bool many = b->ranges >= FULL_RANGES || !c->sack_ok;

	if (b->loss_round_start && !b->full && many && c->ca == SL_CA_RECOVERY &&
	    is_too_high(c, l->s.lost, l->s.in_flight)) {
		b->full = b->full_now = true;
		b->hi_segs = sl_max(bdp(b, max_bw(b), UNIT), b->round_segs);
		b->undo_state = STARTUP;
	}
	if (b->loss_round_start)
		b->ranges = 0;
	if (b->state == STARTUP && b->full) {
		b->state = DRAIN;
		b->drain_round = b->rounds;
	}
}

static void check_drain(const struct sl_tcp *c, struct bbr3 *b)
{
	if (b->state != DRAIN)
		return;
	if (in_net(c, b) <= with_bursts(c, b, bdp(b, current_bw(b), UNIT)) ||
	    b->rounds > b->drain_round + DRAIN_ROUNDS)
		start_down(c, b);
}

/* hi_segs grows while it is what limits (ProbeInflightLongtermUpward). */
static void probe_up(const struct sl_tcp *c, struct bbr3 *b, uint32_t acked)
{
	if (!c->cwnd_limited || c->cwnd < b->hi_segs)
		return;
	b->up_acked += acked;
	if (b->up_acked >= b->up_step) {
		uint32_t more = b->up_acked / b->up_step;

		b->up_acked -= more * b->up_step;
		b->hi_segs += more;
	}
	if (b->round_start)
		raise_slope(c, b);
}

/* True: the state has changed (AdaptLongTermModel). */
static bool adapt_hi(const struct sl_tcp *c, struct bbr3 *b, const struct look *l)
{
	if (b->phase == STARTING && b->round_start)
		b->phase = FEEDBACK;
	if (b->phase == STOPPING && b->round_start) {
		b->sampled = false;
		b->phase = INIT;
		if (is_in_cycle(b) && !l->s.app_limited) { /* the older cycle is forgotten */
			b->best_bw[0] = b->best_bw[1] ? b->best_bw[1] : b->best_bw[0];
			b->best_bw[1] = 0;
		}
		/* The path still holds as much as lately: look for more at once. */
		if (is_in_cycle(b) && b->cautious && !b->too_high) {
			start_refill(c, b);
			return true;
		}
	}
	if (is_too_high(c, l->s.lost, l->s.in_flight) || b->hi_segs == NONE)
		return false;
	b->hi_segs = sl_max(b->hi_segs, l->s.in_flight);
	if (b->state == UP)
		probe_up(c, b, l->acked);
	return false;
}

/* After two to three seconds, or when Reno's window would have grown back. */
static bool is_time_to_probe(const struct sl_tcp *c, const struct bbr3 *b)
{
	uint32_t aim = sl_min(bdp(b, current_bw(b), UNIT), c->cwnd);

	return c->host->now_us > b->cycle_us + b->wait_us ||
	       b->probe_rounds >= sl_min(aim, RENO_ROUNDS);
}

static bool is_time_to_cruise(const struct sl_tcp *c, const struct bbr3 *b)
{
	uint32_t in_flight = in_net(c, b);

	return in_flight <= hi_with_headroom(b) &&
	       in_flight <= with_bursts(c, b, bdp(b, max_bw(b), UNIT));
}

/* True: UP is over. After one that went too high the next stops at the bound of before. */
static bool is_time_to_go_down(const struct sl_tcp *c, struct bbr3 *b, uint32_t bw)
{
	if (b->too_high && sl_tcp_in_flight(c) >= b->hi_segs) {
		b->cautious = true;
		return true;
	}
	if (c->cwnd_limited && c->cwnd >= b->hi_segs) {
		reset_full(b, bw); /* the bound, not the path, holds the rate */
		return false;
	}
	return b->full_now;
}

static void update_cycle(const struct sl_tcp *c, struct bbr3 *b, const struct look *l)
{
	if (!b->full || adapt_hi(c, b, l))
		return;
	switch ((enum state)b->state) {
	case DOWN:
	case CRUISE:
		if (is_time_to_probe(c, b))
			start_refill(c, b);
		else if (b->state == DOWN && is_time_to_cruise(c, b))
			b->state = CRUISE;
		break;
	case REFILL:
		if (b->round_start)
			start_up(c, b, l->bw);
		break;
	case UP:
		if (is_time_to_go_down(c, b, l->bw)) {
			b->too_high = false;
			start_down(c, b);
		}
		break;
	default:
		break;
	}
}

/* The round trip ------------------------------------------------------------------------------- */

static void update_min_rtt(const struct sl_tcp *c, struct bbr3 *b, uint32_t rtt_us)
{
	bool delayed = c->snd_sml == c->snd_una; /* the peer may have held its ACK back */
	uint64_t now = c->host->now_us;

	b->short_rtt_old = now > b->short_rtt_at_us + PROBE_RTT_US;
	if (rtt_us && (rtt_us < b->short_rtt_us || (b->short_rtt_old && !delayed))) {
		b->short_rtt_us = rtt_us;
		b->short_rtt_at_us = now;
	}
	if (b->short_rtt_us < b->min_rtt_us || now > b->min_rtt_at_us + MIN_RTT_US) {
		b->min_rtt_us = b->short_rtt_us;
		b->min_rtt_at_us = b->short_rtt_at_us;
	}
}

/* The window is small already: the queue need not be emptied once more. */
static void leave_probe_rtt(struct sl_tcp *c, struct bbr3 *b)
{
	if (!b->probe_end_us || c->host->now_us <= b->probe_end_us)
		return;
	b->short_rtt_at_us = c->host->now_us;
	c->cwnd = sl_max(c->cwnd, b->prior_cwnd);
	reset_lo(b);
	b->state = STARTUP;
	if (b->full) {
		start_down(c, b);
		b->state = CRUISE;
	}
}

static void stay_in_probe_rtt(struct sl_tcp *c, struct bbr3 *b)
{
	uint32_t in_flight = sl_tcp_in_flight(c);

	/* Low rates of this time say nothing about the path. */
	sl_tcp_rate(c)->app_limited = sl_max(c->delivered + in_flight, 1u);
	if (!b->probe_end_us) {
		if (in_flight > probe_rtt_cwnd(b))
			return;
		b->probe_end_us = c->host->now_us + PROBE_LAST_US;
		b->probe_round = false;
		start_round(c, b);
		return;
	}
	b->probe_round |= b->round_start;
	if (b->probe_round)
		leave_probe_rtt(c, b);
}

static void check_probe_rtt(struct sl_tcp *c, struct bbr3 *b, const struct look *l)
{
	if (b->state != PROBE_RTT && b->short_rtt_old && !b->idle) {
		save_cwnd(c, b);
		b->state = PROBE_RTT;
		b->probe_end_us = 0;
		b->phase = STOPPING;
		start_round(c, b);
	}
	if (b->state == PROBE_RTT)
		stay_in_probe_rtt(c, b);
	if (l->s.delivered)
		b->idle = false;
}

/* The window ----------------------------------------------------------------------------------- */

static uint32_t bound(const struct bbr3 *b)
{
	uint32_t most = NONE;

	if (b->state == PROBE_RTT || b->state == CRUISE)
		most = hi_with_headroom(b);
	else if (is_in_cycle(b))
		most = b->hi_segs;
	most = sl_min(most, b->lo_segs);
	return sl_max(most, SL_BW_MIN_CWND);
}

static void set_cwnd(struct sl_tcp *c, struct bbr3 *b, uint32_t acked)
{
	uint32_t goal = bdp(b, current_bw(b), gains[b->state].cwnd), cwnd = c->cwnd;

	goal = with_bursts(c, b, goal + sl_bw_clumps_most(&b->clumps, current_bw(b)));
	if (b->ca >= SL_CA_RECOVERY && c->ca < SL_CA_RECOVERY)
		cwnd = sl_max(cwnd, b->prior_cwnd);
	b->ca = c->ca;
	if (b->full)
		cwnd = sl_min(cwnd + acked, goal);
	else if (cwnd < goal || c->delivered < SL_BW_FIRST_CWND)
		cwnd += acked;
	cwnd = sl_max(cwnd, SL_BW_MIN_CWND);
	if (b->state == PROBE_RTT)
		cwnd = sl_min(cwnd, probe_rtt_cwnd(b));
	c->cwnd = sl_min(cwnd, bound(b));
	sl_tcp_cap_cwnd(c);
}

static void bbr3_on_ack(struct sl_tcp *c, uint32_t acked, uint32_t rtt_us)
{
	struct look l = {.s = sl_tcp_rate_on_ack(c, acked), .acked = acked};
	struct bbr3 *b = priv(c);

	l.bw = sl_bw_sample(&l.s);
	take_signals(c, b, &l);
	take_bw(c, b, &l);
	if (b->loss_round_start) {
		adapt_lo(c, b);
		b->lossy = false;
	}
	if (acked && l.s.interval_us)
		sl_bw_clumps_take(&b->clumps, c, current_bw(b), acked,
				  !b->round_start ? 0
				  : b->full       ? SL_BW_CLUMP_ROUNDS
						  : 1);
	check_full(b, &l);
	check_startup(c, b, &l);
	check_drain(c, b);
	update_cycle(c, b, &l);
	update_min_rtt(c, b, rtt_us);
	check_probe_rtt(c, b, &l);
	if (b->loss_round_start) {
		b->round_bw = l.bw;
		b->round_segs = l.s.delivered;
	}
	pace(c, b, gains[b->state].pacing);
	set_cwnd(c, b, acked);
}

/* Events --------------------------------------------------------------------------------------- */

static void bbr3_init(struct sl_tcp *c)
{
	uint64_t now = c->host->now_us;
	struct bbr3 *b = priv(c);

	memset(b, 0, sizeof(*b));
	c->ssthresh = SL_TCP_INFINITE_SSTHRESH;
	b->min_rtt_us = b->short_rtt_us = c->min_rtt_us ? c->min_rtt_us : NONE;
	b->min_rtt_at_us = b->short_rtt_at_us = now;
	b->next_round = b->loss_round = c->delivered;
	b->hi_segs = b->up_step = NONE;
	b->undo_state = STATES;
	reset_lo(b);
	sl_bw_clumps_restart(&b->clumps, now);
	sl_bw_first_pace(c, gains[STARTUP].pacing);
}

static uint32_t bbr3_ssthresh(struct sl_tcp *c)
{
	save_cwnd(c, priv(c));
	return c->ssthresh;
}

static void bbr3_on_rto(struct sl_tcp *c)
{
	priv(c)->ca = SL_CA_LOSS;
}

static void bbr3_on_any_ack(struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	priv(c)->marked = a->ece && c->ecn_ok;
}

/* Nothing was lost (HandleSpuriousLossDetection). */
static uint32_t bbr3_undo_cwnd(struct sl_tcp *c)
{
	struct bbr3 *b = priv(c);

	b->lossy = false;
	reset_full(b, 0);
	b->lo_bw = sl_max(b->lo_bw, b->undo_lo_bw);
	b->lo_segs = sl_max(b->lo_segs, b->undo_lo_segs);
	b->hi_segs = sl_max(b->hi_segs, b->undo_hi_segs);
	if (b->undo_state == STARTUP && b->state != STARTUP) {
		b->full = false;
		if (b->state != PROBE_RTT)
			b->state = STARTUP;
	} else if (b->undo_state == UP && b->state != UP && b->state != PROBE_RTT) {
		start_refill(c, b);
	}
	b->undo_state = STATES;
	return sl_max(c->cwnd, b->prior_cwnd);
}

/* After a silence the rate is the path's, not a gain's: there is no queue to fill or to drain. */
static void bbr3_on_idle(struct sl_tcp *c)
{
	struct bbr3 *b = priv(c);

	if (!sl_tcp_rate(c)->app_limited)
		return;
	b->idle = true;
	sl_bw_clumps_restart(&b->clumps, c->host->now_us);
	if (is_in_cycle(b))
		pace(c, b, UNIT);
	else if (b->state == PROBE_RTT)
		leave_probe_rtt(c, b);
}

static uint32_t bbr3_info(const struct sl_tcp *c, union tcp_cc_info *info)
{
	const struct bbr3 *b = priv(c);

	info->bbr.bbr_min_rtt = b->min_rtt_us;
	info->bbr.bbr_pacing_gain = gains[b->state].pacing;
	info->bbr.bbr_cwnd_gain = gains[b->state].cwnd;
	return sl_bw_info(c, current_bw(b), &info->bbr);
}

const struct sl_cc sl_cc_bbr3 = {
	.name = "bbr3",
	.init = bbr3_init,
	.on_ack = bbr3_on_ack,
	.ssthresh = bbr3_ssthresh,
	.on_rto = bbr3_on_rto,
	.on_any_ack = bbr3_on_any_ack,
	.on_lost = bbr3_on_lost,
	.undo_cwnd = bbr3_undo_cwnd,
	.on_idle = bbr3_on_idle,
	.controls = true,
	.info = bbr3_info,
};
