/* SPDX-License-Identifier: BSD-2-Clause */
/* Which short writes wait a moment for the next one, as with tcp_autocorking of Linux: one segment
 * and one kick cost more than ten writes.
 *
 * Theory of operation: data held back are sent with the next write and with any other turn or call
 * of the lane, so a program that waits for an answer has sent what it wrote. If the program makes
 * no further call, the keeper sends them.
 *
 * A *burst*: a program writes many short messages in a row while earlier ones are in flight. Its
 * first messages are sent one by one, since most bursts end before SL_BURST_LEAST; the last message
 * of a longer burst may be a tenth of a millisecond late if the program then makes no call. A
 * short interruption (an interrupt, the keeper) does not end a burst.
 *
 * A *pair*: a program writes an answer in two pieces, such as head and body in HTTP: nothing is in
 * flight, a short write comes, and at once another. When the last PAIR_LEAST answers of a lane
 * were pairs, the lane holds back the first piece of the next. If the program's next call is not a
 * write, the first piece is sent alone, and the lane must see as many pairs again. (nginx with a
 * file of 1.3 kB saves a kick and a segment for each request; the client wakes up and acknowledges
 * only once.) */
#include "base/clock.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_params.h"

#define TIGHT_US   1 /* from the end of a write to the beginning of the next */
#define BREAK_US   200
#define BURST_MOST 192
#define BURST_LOSE 4
#define BURST_US   2000 /* how long after the last write the keeper stays ready */
#define PAIR_US    100
#define PAIR_LEAST 8
#define PAIR_LOSE  4 /* lost for a late second piece: an interrupt, or the program */

static uint64_t now_us(void)
{
	return sl_now_ns() / 1000;
}

/* Counts a write. True: c is in a burst. */
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
	return b->n >= SL_BURST_LEAST;
}

/* True: a write to c is probably the first of a pair. */
static bool is_pair(struct sl_pair *p, const struct sl_tcp *c, bool fresh)
{
	uint64_t now_us = c->host->now_us;

	if (fresh) { /* a first piece still waiting for its second was no pair */
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

	/* Request and answer in turns leave nothing in flight: no holding then. */
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
	return sl_load(&lane->burst.n) >= SL_BURST_LEAST &&
	       now_us - sl_load(&lane->burst.end_us) < BURST_US;
}
