/* SPDX-License-Identifier: BSD-2-Clause */
/* Which pieces have arrived and which are lost: SACK blocks (RFC 2018, 2883) and RACK (RFC 8985).
 * tcp_loss.c changes the window; tcp_marks.c keeps the marks.
 *
 * Theory of operation. RACK judges by time: what was sent well before something that has arrived is
 * lost. Pieces sent once lie in the queue in order of time, so rack_hint need only move on; pieces
 * sent again are in a queue of their own (sl_tcp_oldest_copy()). Whatever blocks a peer repeats, it
 * marks each piece once, and no ACK walks over what is marked. */
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_marks.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_trouble.h"

#define REO_PERSIST 16

/* Arrivals ------------------------------------------------------------------------------------ */

/* RFC 8985 6.1 RACK_sent_after() */
static bool sent_after(uint64_t t1, uint32_t seq1, uint64_t t2, uint32_t seq2)
{
	return t1 > t2 || (t1 == t2 && sl_seq_gt(seq1, seq2));
}

/* Takes the newest piece that has arrived (6.2 step 2). An answer that comes too soon after a
 * retransmission is one to the copy before it. */
static void rack_advance(struct sl_tcp *c, const struct sl_txseg *p, struct sl_tcp_ack *a)
{
	uint32_t rtt = elapsed_us(c, p->sent_us);

	if (p->sent > 1) {
		if (a->ts && sl_seq_lt(a->tsecr, p->tsval))
			return;
		if (rtt < c->min_rtt_us)
			return;
	}
	c->rack_rtt_us = rtt;
	if (sent_after(p->sent_us, piece_end(p), c->rack_sent_us, c->rack_end_seq)) {
		c->rack_sent_us = p->sent_us;
		c->rack_end_seq = piece_end(p);
		c->rack_delivered = p->delivered;
		c->rack_advanced = true;
	}
}

/* For TCP_INFO: how many segments have overtaken p (tcp_check_sack_reordering() of Linux). */
static void note_distance(struct sl_tcp *c, const struct sl_txseg *p)
{
	uint32_t segs = (c->rack_fack - p->seq + c->mss - 1) / sl_max(c->mss, (uint16_t)1);
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	segs = sl_min(segs, sl_tcp_params.max_reordering);
	t->reordering = sl_max(t->reordering, segs);
}

/* Marks a piece as arrived; SACK or the ACK number may tell so. */
static void arrived(struct sl_tcp *c, struct sl_txseg *p, struct sl_tcp_ack *a)
{
	rack_advance(c, p, a);
	a->delivered++;
	if (p->sent > 1)
		return;
	/* 6.2 step 3: the original arrives after what was sent later. */
	if (sl_seq_lt(p->seq, a->prior_fack)) {
		sl_tcp_trouble(c)->reord_seen += !a->reordered;
		a->reordered = true;
		c->rack_reordering = true;
		note_distance(c, p);
	}
	if (sl_seq_le(piece_end(p), c->high_seq))
		a->orig_acked = true;
}

static void clear_lost(struct sl_tcp *c, struct sl_txseg *p)
{
	if (p->marks & SL_TXS_LOST)
		c->lost_out--;
	if (p->marks & SL_TXS_RETX)
		c->retx_out--;
	p->marks &= ~(SL_TXS_LOST | SL_TXS_RETX);
}

static uint32_t sample(const struct sl_tcp *c, const struct sl_txseg *p)
{
	uint32_t rtt = elapsed_us(c, p->sent_us);

	if (sl_likely(rtt))
		return rtt;
	return p->sent_us <= c->host->now_us;
}

static void sacked(struct sl_tcp *c, struct sl_txseg *p, struct sl_tcp_ack *a)
{
	arrived(c, p, a);
	clear_lost(c, p);
	if (sl_unlikely(c->cc->controls))
		sl_tcp_rate_on_sack(c, p);
	p->marks |= SL_TXS_SACKED;
	p->run = 1;
	c->sacked_out++;
	a->sacked_segs++;
	/* Its own report may have been lost: of the flight that recovery began with, this may be
	 * the answer to a retransmission. */
	if (p->sent == 1 && !a->rtt_us &&
	    (c->ca == SL_CA_OPEN || sl_seq_gt(piece_end(p), c->high_seq)))
		a->rtt_us = a->last_rtt_us = sample(c, p);
	if (sl_seq_gt(piece_end(p), c->rack_fack))
		c->rack_fack = piece_end(p);
}

void sl_tcp_loss_cum(struct sl_tcp *c, uint32_t to, struct sl_tcp_ack *a)
{
	uint32_t first_rtt = 0, last_rtt = 0;

	a->reordered = false;
	for (uint32_t i = c->tx_una; i != to; i++) {
		struct sl_txseg *p = sl_tcp_piece(c, i);

		a->acked_segs++;
		if (p->sent > 1)
			a->retx_acked = true;
		if (p->marks & SL_TXS_SACKED) {
			c->sacked_out--;
		} else {
			arrived(c, p, a);
			clear_lost(c, p);
			last_rtt = sample(c, p);
			if (!first_rtt)
				first_rtt = last_rtt;
		}
		p->marks = 0;
	}
	/* Karn: whose answer it is must be certain. */
	if (first_rtt && !a->retx_acked) {
		a->rtt_us = first_rtt;
		a->last_rtt_us = last_rtt;
	}
	if (before(c->loss_hint, to))
		c->loss_hint = to;
	if (before(c->rack_hint, to))
		c->rack_hint = to;
}

/* Blocks -------------------------------------------------------------------------------------- */

/* Marks the pieces that lie in b as a whole. */
static void take_block(struct sl_tcp *c, const struct sl_tcp_block *b, struct sl_tcp_ack *a)
{
	uint32_t i = find_piece(c, b->start);

	while (i != c->tx_nxt) {
		struct sl_txseg *p = sl_tcp_piece(c, i);

		if (!sl_seq_lt(p->seq, b->end))
			break;
		if (p->marks & SL_TXS_SACKED) {
			i = sl_tcp_past_sacked(c, i);
			continue;
		}
		if (sl_seq_ge(p->seq, b->start) && sl_seq_le(piece_end(p), b->end))
			sacked(c, p, a);
		i++;
	}
}

/* True: the first block is a DSACK, since it lies below the ACK or within the second (RFC 2883
 * 4). */
static bool is_dsack(const struct sl_tcp_seg *s)
{
	const struct sl_tcp_block *b = s->sack;

	if (!sl_seq_lt(b[0].start, b[0].end))
		return false;
	if (sl_seq_le(b[0].end, s->ack))
		return true;
	return s->nsack > 1 && sl_seq_ge(b[0].start, b[1].start) && sl_seq_le(b[0].end, b[1].end);
}

/* Grows the reordering window by a quarter of an RTT, once a round trip, when retransmissions were
 * in vain (RFC 8985 6.2 step 4). */
static void grow_reo_wnd(struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	if (c->dsack_round && sl_seq_lt(a->prior_una, t->rack_dsack_round))
		return;
	c->dsack_round = true;
	t->rack_dsack_round = c->snd_nxt;
	c->reo_wnd_persist = REO_PERSIST;
	if (c->reo_wnd_mult < UINT8_MAX)
		c->reo_wnd_mult++;
}

static void take_dsack(struct sl_tcp *c, const struct sl_tcp_block *b, struct sl_tcp_ack *a)
{
	uint32_t len = b->end - b->start, segs = 1;
	struct sl_tcp_trouble *t;

	/* A DSACK for data that we did not send within the last windows is no answer to us. */
	if (sl_seq_gt(b->end, c->snd_nxt) || len > c->max_window)
		return;
	if (c->mss && len > c->mss)
		segs = (len + c->mss - 1) / c->mss;
	a->dsack = true;
	t = sl_tcp_trouble(c);
	t->dsack_dups += segs;
	tcp_count(c->host, SL_TCPC_DSACK_RECV, segs);
	if (c->tlp_out && c->tlp_retrans && b->end == c->tlp_end_seq)
		a->dsack_tlp = true;
	/* More than we ever retransmitted: the network duplicates. */
	if (t->dsack_dups > t->total_retrans)
		return;
	if (c->can_undo && t->undo_retrans > 0 && sl_seq_gt(b->end, t->undo_marker))
		t->undo_retrans =
			(uint32_t)t->undo_retrans > segs ? t->undo_retrans - (int32_t)segs : 0;
	if (!a->dsack_tlp)
		grow_reo_wnd(c, a);
}

void sl_tcp_loss_sack(struct sl_tcp *c, const struct sl_tcp_seg *seg, struct sl_tcp_ack *a)
{
	uint8_t k = 0;

	a->ts = c->ts_ok && seg->opts & SL_TCPO_TS && seg->tsecr;
	a->tsecr = seg->tsecr;
	if (sl_seq_lt(c->rack_fack, a->prior_una))
		c->rack_fack = a->prior_una;
	a->prior_fack = c->rack_fack;
	if (!c->sack_ok || !(seg->opts & SL_TCPO_SACK) || !seg->nsack)
		return;
	if (is_dsack(seg))
		take_dsack(c, &seg->sack[k++], a);
	for (; k < seg->nsack && k < SL_TCP_MAX_SACK; k++) {
		struct sl_tcp_block b = seg->sack[k];

		if (!sl_seq_lt(b.start, b.end) || sl_seq_gt(b.end, c->snd_nxt) ||
		    sl_seq_le(b.end, seg->ack) || sl_seq_le(b.end, a->prior_una))
			continue;
		if (sl_seq_lt(b.start, a->prior_una)) /* of an ACK from the past */
			b.start = a->prior_una;
		take_block(c, &b, a);
	}
}

/* Detection ----------------------------------------------------------------------------------- */

/* The reordering window (6.2 step 4, RACK_update_reo_wnd()). While no reordering was seen it is 0
 * once three pieces have arrived. */
static uint32_t reo_wnd_us(const struct sl_tcp *c)
{
	uint64_t w;

	if (!sl_tcp_params.recovery_rack)
		return 0;
	if (!c->rack_reordering &&
	    (c->ca >= SL_CA_RECOVERY || c->sacked_out >= sl_tcp_dup_thresh(c)))
		return 0;
	w = (uint64_t)(c->min_rtt_us / 4) * (c->reo_wnd_mult ? c->reo_wnd_mult : 1);
	return w < c->srtt_us ? (uint32_t)w : c->srtt_us;
}

/* True: the piece was sent before the newest one that has arrived. */
static bool was_overtaken(const struct sl_tcp *c, const struct sl_txseg *p)
{
	return sent_after(c->rack_sent_us, c->rack_end_seq, p->sent_us, piece_end(p));
}

/* Judges pieces whose original is in flight. True: some must be judged later. The pieces lie in
 * order of time, so none behind the first that is not due is due. Pieces that were sent again are
 * judge_retransmissions()'s, even if they have no mark since an undoing. */
static bool judge_originals(struct sl_tcp *c, uint64_t patience)
{
	if (before(c->rack_hint, c->tx_una))
		c->rack_hint = c->tx_una;
	while (c->rack_hint != c->tx_nxt) {
		const struct sl_txseg *p = sl_tcp_piece(c, c->rack_hint);

		if (p->marks & SL_TXS_SACKED) {
			c->rack_hint = sl_tcp_past_sacked(c, c->rack_hint);
			continue;
		}
		if (p->sent <= 1 && !(p->marks & SL_TXS_LOST)) {
			if (!was_overtaken(c, p))
				return false;
			if (elapsed_us(c, p->sent_us) < patience)
				return true;
			sl_tcp_mark_lost(c, c->rack_hint);
		}
		c->rack_hint++;
	}
	return false;
}

static bool judge_retransmissions(struct sl_tcp *c, uint64_t patience)
{
	uint32_t i;

	while ((i = sl_tcp_oldest_copy(c)) != c->tx_nxt) {
		const struct sl_txseg *p = sl_tcp_piece(c, i);

		if (!was_overtaken(c, p))
			return false;
		if (elapsed_us(c, p->sent_us) < patience)
			return true;
		sl_tcp_mark_lost(c, i);
	}
	return false;
}

/* Marks lost pieces (6.2 step 5), and arms the timer for pieces to check when the reordering window
 * ends. */
void sl_tcp_rack_detect(struct sl_tcp *c)
{
	uint64_t patience = (uint64_t)c->rack_rtt_us + reo_wnd_us(c);
	uint32_t reo_at = 0;
	bool later;

	c->rack_advanced = false;
	if (!c->rack_sent_us)
		return;
	if (!sl_tcp_params.recovery_rack && c->sacked_out < sl_tcp_dup_thresh(c) &&
	    c->ca < SL_CA_RECOVERY)
		return;
	later = judge_originals(c, patience);
	later |= judge_retransmissions(c, patience);
	/* When it fires, all that were overtaken by now are due. */
	if (later)
		reo_at = sl_tcp_at(c->rack_sent_us + patience);
	if (reo_at != c->reo_at) {
		c->reo_at = reo_at;
		sl_tcp_timer_rearm(c);
	}
}

/* Call at the end of a recovery. After sixteen without DSACK reordering is thought to be over (6.2
 * step 4). */
void sl_tcp_rack_recovered(struct sl_tcp *c)
{
	if (c->reo_wnd_persist && !--c->reo_wnd_persist)
		c->reo_wnd_mult = 1;
}
