/* SPDX-License-Identifier: BSD-2-Clause */
/* Which short writes wait a moment for the next one, as with tcp_autocorking of Linux: a segment
 * and a kick for each cost more than ten writes do.
 *
 * Theory of operation: what is held back goes with the next write, and with any other turn or call
 * of the lane; so a program that waits for an answer has sent what it wrote. Who calls nothing more
 * leaves it to the keeper.
 *
 * A *burst* is a program that writes one short message after the other while earlier ones are in
 * flight. Its first messages go one by one, since most bursts end before BURST_LEAST: the last of a
 * longer one may be a tenth of a millisecond late, when the program then calls nothing. What comes
 * in between (an interrupt, the keeper) is no end of it.
 *
 * A *pair* is an answer that is written in two pieces, as the head and the body of one by HTTP:
 * nothing is in flight, a short write, and at once another. A lane whose last PAIR_LEAST answers
 * all were such holds the first piece of the next. It goes alone at the program's next call if that
 * is no write, and then the lane has to see as many pairs again. (nginx with a file of 1.3 kB: a
 * kick and a segment less for each request; the client is woken once for it, and acknowledges
 * once.) */
#include "base/clock.h"
#include "stack/stack.h"

#define TIGHT_US    1 /* from the end of a write to the beginning of the next */
#define BREAK_US    200
#define BURST_LEAST 128
#define BURST_MOST  192
#define BURST_LOSE  4
#define BURST_US    2000 /* so long the keeper stays near after the last write */
#define PAIR_US     100
#define PAIR_LEAST  8
#define PAIR_LOSE   4 /* by one that was late: once it is an interrupt, always the program */
/* The keeper's: who breaks off after so many pairs is rare, and each wake-up of his costs. */
#define PAIR_LATE_US 4000

static uint64_t now_us(void)
{
	return sl_now_ns() / 1000;
}

/* Another write that came close upon the one before. */
static bool is_burst(struct sl_burst *b, const struct sl_tcp *c)
{
	uint64_t gap = c->host->now_us - b->end_us;

	if (b->of != c || gap > BREAK_US) {
		b->of = c;
		b->n = 0;
	} else if (gap > TIGHT_US) {
		b->n -= sl_min(b->n, (uint32_t)BURST_LOSE);
	} else {
		b->n = sl_min(b->n + 1, (uint32_t)BURST_MOST);
	}
	return b->n >= BURST_LEAST;
}

/* The first piece of what is likely to have a second. */
static bool is_pair(struct sl_pair *p, const struct sl_tcp *c, bool fresh)
{
	uint64_t now_us = c->host->now_us;

	if (fresh) { /* one that waits for its second has none */
		p->n = p->of ? 0 : p->n;
		p->of = c;
		p->since_us = now_us;
		return p->n >= PAIR_LEAST;
	}
	if (p->of == c) {
		p->n = now_us - p->since_us <= PAIR_US ? sl_min(p->n + 1, (uint32_t)PAIR_LEAST)
						       : p->n - sl_min(p->n, (uint32_t)PAIR_LOSE);
		p->of = NULL;
	}
	return false;
}

static void wrote_burst(struct sl_lane *lane, const struct sl_tcp *c)
{
	struct sl_tcp_host *h = lane->tcp;
	struct sl_burst *b = &lane->burst;
	uint32_t before = c->snd_nxt;
	bool was_held = !sl_list_empty(&h->held);

	/* (Of those that speak in turns nothing is in flight.) */
	h->hold = is_burst(b, c) && c->snd_una != before &&
		  (!was_held || h->now_us - b->held_us < SL_HOLD_US);
	sl_lane_tcp_done(lane);
	if (!was_held || c->snd_nxt != before)
		b->held_us = h->now_us;
	sl_store(&b->end_us, c->snd_nxt != before ? now_us() : h->now_us);
}

void sl_lane_tcp_wrote(struct sl_lane *lane, const struct sl_tcp *c, size_t n, bool fresh)
{
	bool may_hold = sl_tcp_params.autocorking && n < c->mss, pair;

	if (sl_unlikely(c->cork || c->more)) {
		sl_lane_tcp_done(lane);
		return;
	}
	pair = is_pair(&lane->pair, c, fresh);
	if (may_hold && !pair && c->nodelay && (c->snd_una != c->snd_nxt || lane->burst.n)) {
		wrote_burst(lane, c);
		return;
	}
	lane->tcp->hold = may_hold && pair;
	sl_lane_tcp_done(lane);
}

bool sl_lane_is_bursting(const struct sl_lane *lane, uint64_t now_us)
{
	return sl_load(&lane->burst.n) >= BURST_LEAST &&
	       now_us - sl_load(&lane->burst.end_us) < BURST_US;
}

uint64_t sl_lane_hold_late_us(const struct sl_lane *lane)
{
	return lane->burst.n >= BURST_LEAST ? SL_HOLD_US : PAIR_LATE_US;
}
