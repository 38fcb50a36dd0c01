/* SPDX-License-Identifier: BSD-2-Clause */
/* Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation) and the pace of an algorithm.
 *
 * Theory of operation. Each piece remembers, when it leaves, how much had been delivered until then
 * (p->delivered) and since when. Its ACK tells how much more was delivered, and the longer one of
 * the times in which that was sent and acknowledged gives a rate that the path has really had. A
 * sample in which the program had nothing to send says little about the path (app_limited).
 *
 * The piece that left last among those that an ACK reports gives the sample. RACK has just found
 * it; its memory lies in the ring below tx_una, which nothing has overwritten yet. Thus connections
 * whose algorithm takes no samples pay nothing for those that do. What a piece remembers of losses
 * lies where a SACKED piece has its run, so it is taken out before.
 *
 * Segments leave in bursts of a millisecond, as Linux' do (tcp_tso_autosize()): the timer's tick is
 * no limit to the rate. A timer that comes late may be caught up on. */
#include "base/heap.h"
#include "base/pace.h"
#include "tcp/loss/tcp_marks.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_int.h"

#define BYTE_SHIFT     20
#define NS_PER_S       1000000000ull
#define MOST_IN_FLIGHT ((1u << 24) - 1)
#define LIMITED        1u /* in a piece's acked_us: the program, not the path, set the rate */

static void note_flight(const struct sl_tcp *c, struct sl_txseg *s)
{
	s->in_flight = (uint32_t)sl_min(sl_tcp_in_flight(c) + 1, MOST_IN_FLIGHT);
	s->lost = c->lost;
}

bool sl_tcp_rate_new(struct sl_tcp *c)
{
	if (c->opts && !c->opts->rate)
		c->opts->rate = sl_malloc(sizeof(*c->opts->rate));
	if (!c->opts || !c->opts->rate)
		return false;
	*c->opts->rate = (struct sl_tcp_rate){.una = c->tx_una};
	/* Pieces that are under way have no notes yet. */
	for (uint32_t i = c->tx_una; i != c->tx_nxt; i++)
		if (!(sl_tcp_piece(c, i)->marks & SL_TXS_SACKED))
			note_flight(c, sl_tcp_piece(c, i));
	return true;
}

void sl_tcp_rate_free(struct sl_tcp *c)
{
	if (!c->opts)
		return;
	sl_free(c->opts->rate);
	c->opts->rate = NULL;
}

/* The pace ------------------------------------------------------------------------------------- */

void sl_tcp_rate_set(struct sl_tcp_rate *r, uint64_t bytes_s, uint32_t burst_bytes)
{
	if (bytes_s != r->bytes_s) {
		r->bytes_s = bytes_s;
		r->byte_time = bytes_s ? (NS_PER_S << BYTE_SHIFT) / bytes_s : 0;
	}
	r->burst_ns = (uint32_t)sl_min(burst_bytes * r->byte_time >> BYTE_SHIFT, NS_PER_S);
}

uint64_t sl_tcp_rate_until(struct sl_tcp_rate *r, uint64_t now_us)
{
	uint64_t now_ns = now_us * 1000;

	if (r->next_ns <= now_ns)
		r->closed = false;
	else if (r->next_ns >= now_ns + r->burst_ns)
		r->closed = true;
	if (!r->closed)
		return 0;
	r->waited = true;
	return (r->next_ns + 999) / 1000;
}

static void spend(struct sl_tcp_rate *r, uint32_t bytes, uint64_t now_us)
{
	uint64_t now_ns = now_us * 1000, late_ns = r->waited ? SL_PACE_LATE_NS : 0;

	if (r->next_ns + late_ns < now_ns)
		r->next_ns = now_ns - late_ns;
	r->next_ns += bytes * r->byte_time >> BYTE_SHIFT;
}

/* Samples -------------------------------------------------------------------------------------- */

void sl_tcp_rate_on_sent(struct sl_tcp *c, struct sl_txseg *s)
{
	struct sl_tcp_rate *r = sl_tcp_rate(c);
	uint32_t now = (uint32_t)c->host->now_us;

	if (c->tx_una == c->tx_nxt) { /* a new flight: silence is no part of a sample */
		r->first_us = r->acked_us = now;
		r->waited = false;
		if (!r->sent_us) /* what the program had then is all that there was */
			r->app_limited = sl_max(c->delivered, 1u);
	}
	s->first_us = r->first_us;
	s->acked_us = (r->acked_us & ~LIMITED) | (r->app_limited ? LIMITED : 0);
	note_flight(c, s);
	spend(r, s->len, c->host->now_us);
}

bool sl_tcp_rate_is_limited(const struct sl_txseg *s)
{
	return s->acked_us & LIMITED;
}

void sl_tcp_rate_on_sack(struct sl_tcp *c, const struct sl_txseg *s)
{
	struct sl_tcp_rate *r = sl_tcp_rate(c);

	if (s->sent_us != c->rack_sent_us || piece_end(s) != c->rack_end_seq)
		return;
	r->sacked = true;
	r->sacked_end = c->rack_end_seq;
	r->sacked_lost = s->lost;
}

/* The piece that RACK found to be the newest arrival; NULL: the ACK reports none. */
static const struct sl_txseg *newest(const struct sl_tcp *c, const struct sl_tcp_rate *r)
{
	uint32_t lo = r->una, n = c->tx_nxt - r->una;
	const struct sl_txseg *p;

	if (!c->rack_sent_us || !c->tx || n > c->txsize ||
	    (c->rack_sent_us == r->sent_us && c->rack_end_seq == r->end_seq))
		return NULL;
	p = sl_tcp_piece(c, c->tx_una - 1); /* without a hole it is the last one */
	if (lo != c->tx_una && piece_end(p) == c->rack_end_seq)
		return p;
	while (n) {
		uint32_t half = n / 2;

		p = sl_tcp_piece(c, lo + half);
		if (piece_end(p) == c->rack_end_seq)
			return p;
		if (sl_seq_gt(piece_end(p), c->rack_end_seq)) {
			n = half;
		} else {
			lo += half + 1;
			n -= half + 1;
		}
	}
	return NULL;
}

struct sl_rate_sample sl_tcp_rate_on_ack(struct sl_tcp *c, uint32_t acked)
{
	struct sl_tcp_rate *r = sl_tcp_rate(c);
	const struct sl_txseg *p = newest(c, r);
	uint32_t now = (uint32_t)c->host->now_us, sent;
	struct sl_rate_sample s = {0};

	if (!c->pace_at)
		r->waited = false;
	r->una = c->tx_una;
	/* The bubble has left the path: samples are the path's again. */
	if (r->app_limited && (int32_t)(c->delivered - r->app_limited) > 0)
		r->app_limited = 0;
	if (p) {
		sent = (uint32_t)c->rack_sent_us;
		r->sent_us = c->rack_sent_us;
		r->end_seq = c->rack_end_seq;
		s.prior_delivered = c->rack_delivered;
		s.delivered = c->delivered - c->rack_delivered;
		s.app_limited = sl_tcp_rate_is_limited(p);
		s.in_flight = p->in_flight;
		s.lost = c->lost -
			 (r->sacked && r->sacked_end == r->end_seq ? r->sacked_lost : p->lost);
		s.interval_us = sl_max(sent - p->first_us, now - (p->acked_us & ~LIMITED));
		r->first_us = sent;
		/* Shorter than any round trip: that is an answer to an earlier copy. */
		if (s.interval_us < c->min_rtt_us || s.interval_us > INT32_MAX)
			s.interval_us = 0;
	}
	r->sacked = false;
	if (acked)
		r->acked_us = now;
	if (c->tx_nxt == c->tx_tail && sl_tcp_in_flight(c) < c->cwnd && c->lost_out <= c->retx_out)
		r->app_limited = sl_max(c->delivered + sl_tcp_in_flight(c), 1u);
	return s;
}
