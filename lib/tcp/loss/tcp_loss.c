/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion window after a loss: recovery, its end, and its undoing.
 *
 * Theory of operation. tcp_rack.c says what has arrived and what is lost. Here is the machine of
 * states on top of it, as Linux has it: OPEN; DISORDER, something may be lost; CWR, the window is
 * being reduced for ECN; RECOVERY, because of loss; LOSS, an RTO has expired. The last three end
 * when high_seq, which was snd_nxt at their begin, is acknowledged: one reduction a window. While
 * the window is reduced PRR clocks segments out (RFC 6937). prior_cwnd and prior_ssthresh remember
 * what was, should the loss turn out to be none: by time stamps (Eifel, RFC 3522, 4015), by DSACKs
 * for all that was sent again, or by F-RTO (RFC 5682).
 *
 * Without SACK each duplicate ACK counts as one segment that has arrived (sacked_out without a
 * mark), which gives NewReno (RFC 6582) and limited transmit (RFC 3042) out of the same sums. */

#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"

void sl_tcp_loss_init(struct sl_tcp *c)
{
	c->ca = SL_CA_OPEN;
	c->cwnd = sl_tcp_init_cwnd(c);
	c->ssthresh = SL_TCP_INFINITE_SSTHRESH;
	c->reo_wnd_mult = 1;
	c->loss_hint = c->rack_hint = c->tx_una;
	c->rack_fack = c->rack_end_seq = c->high_seq = c->snd_una;
	c->cwnd_usage_seq = c->snd_una;
	c->cwnd_stamp = (uint32_t)(c->host->now_us >> SL_TCP_UNIT_BITS);
	if (!c->cc)
		c->cc = sl_cc_find(sl_tcp_params.congestion);
	if (!c->cc)
		c->cc = &sl_cc_cubic;
	sl_cc_start(c);
}

uint32_t sl_tcp_loss_cwnd(const struct sl_tcp *c)
{
	return c->cwnd;
}

static bool is_reducing(const struct sl_tcp *c)
{
	return c->ca == SL_CA_CWR || c->ca == SL_CA_RECOVERY;
}

/* Sent ---------------------------------------------------------------------------------------- */

static void note_retransmission(struct sl_tcp *c, uint32_t i)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);
	struct sl_txseg *p = sl_tcp_piece(c, i);

	if (!(p->marks & SL_TXS_RETX)) {
		p->marks |= SL_TXS_RETX;
		c->retx_out++;
	}
	if (!c->retrans_stamped) {
		c->retrans_stamped = true;
		t->retrans_tsval = sl_tcp_tsval(c);
	}
	t->undo_retrans = t->undo_retrans < 0 ? 1 : t->undo_retrans + 1;
	sl_tcp_mtup_forget(c);
	if (c->sack_ok)
		sl_tcp_rack_on_retransmit(c, i);
}

void sl_tcp_loss_on_sent(struct sl_tcp *c, uint32_t i, bool retransmission)
{
	uint32_t in_flight;

	sl_tcp_piece(c, i)->delivered = c->delivered;
	c->last_sent_us = c->host->now_us;
	if (retransmission)
		note_retransmission(c, i);
	in_flight = sl_tcp_in_flight(c) + !retransmission;
	if (is_reducing(c))
		sl_tcp_trouble(c)->prr_out++;
	sl_cc_on_sent(c, in_flight);
}

/* Undo ---------------------------------------------------------------------------------------- */

/* Begins an episode that may be undone. Segments that were sent again before (a tail loss probe)
 * count. */
static void init_undo(struct sl_tcp *c)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	t->undo_marker = c->snd_una;
	t->undo_retrans = c->retx_out ? (int32_t)c->retx_out : -1;
	c->can_undo = true;
	if (!c->retx_out)
		c->retrans_stamped = false;
}

/* Eifel's test. True: the acknowledged data arrived from the first sending, before anything was
 * sent again. */
static bool was_only_delayed(const struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	return c->retrans_stamped && c->trouble && a->ts &&
	       sl_seq_lt(a->tsecr, c->trouble->retrans_tsval);
}

static bool may_undo(const struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	return c->can_undo && c->trouble && (!c->trouble->undo_retrans || was_only_delayed(c, a));
}

static void undo_reduction(struct sl_tcp *c, bool unmark)
{
	const struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	if (unmark)
		sl_tcp_unmark_lost(c);
	if (t->prior_ssthresh) {
		c->cwnd = c->cc->undo_cwnd ? c->cc->undo_cwnd(c) : t->prior_cwnd;
		if (t->prior_ssthresh > c->ssthresh) {
			c->ssthresh = t->prior_ssthresh;
			c->cwr_owed = false;
		}
	} else if (is_reducing(c) && !c->cc->controls) {
		/* a mark was there as well: the reduction holds */
		c->cwnd = c->ssthresh;
	}
	c->can_undo = false;
	c->cwnd_stamp = (uint32_t)(c->host->now_us >> SL_TCP_UNIT_BITS);
	tcp_count(c->host, SL_TCPC_SPURIOUS, 1);
}

/* States -------------------------------------------------------------------------------------- */

static bool was_retransmitted(const struct sl_tcp *c)
{
	return c->retx_out || (c->tx_una != c->tx_nxt && sl_tcp_piece(c, c->tx_una)->sent > 1);
}

static void keep_open(struct sl_tcp *c)
{
	uint8_t ca = SL_CA_OPEN;

	if (c->sacked_out || c->lost_out || was_retransmitted(c))
		ca = SL_CA_DISORDER;
	if (c->ca != ca) {
		c->ca = ca;
		c->high_seq = c->snd_nxt;
	}
	if (ca == SL_CA_OPEN)
		sl_tcp_loss_settle(c);
}

static void begin_reduction(struct sl_tcp *c)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	c->high_seq = c->snd_nxt;
	c->tlp_out = false;
	c->cwnd_cnt = 0;
	t->prior_cwnd = c->cwnd;
	t->prr_delivered = t->prr_out = 0;
	c->ssthresh = c->cc->ssthresh(c);
	if (c->ecn_ok)
		c->cwr_owed = true;
}

static void end_reduction(struct sl_tcp *c)
{
	if (c->cc->controls)
		return;
	if (c->ssthresh < SL_TCP_INFINITE_SSTHRESH && (c->ca == SL_CA_CWR || c->can_undo)) {
		c->cwnd = c->ssthresh;
		c->cwnd_stamp = (uint32_t)(c->host->now_us >> SL_TCP_UNIT_BITS);
	}
}

static void enter_cwr(struct sl_tcp *c)
{
	sl_tcp_trouble(c)->prior_ssthresh = 0; /* a mark is never spurious */
	c->can_undo = false;
	begin_reduction(c);
	c->ca = SL_CA_CWR;
}

static void enter_recovery(struct sl_tcp *c, bool ece)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	t->prior_ssthresh = 0;
	init_undo(c);
	if (c->ca != SL_CA_CWR) {
		if (!ece)
			t->prior_ssthresh = sl_cc_current_ssthresh(c);
		begin_reduction(c);
	}
	if (c->cc->on_recovery)
		c->cc->on_recovery(c);
	c->high_seq = c->snd_nxt;
	c->ca = SL_CA_RECOVERY;
	tcp_count(c->host, c->sack_ok ? SL_TCPC_FAST_RECOVERY : SL_TCPC_RENO_RECOVERY, 1);
}

void sl_tcp_loss_on_ece(struct sl_tcp *c)
{
	if (c->ca < SL_CA_CWR)
		enter_cwr(c);
}

/* Proportional rate reduction (RFC 6937), with the conservative bound that Linux uses below
 * ssthresh, and slow start's when that goes well. */
static void prr(struct sl_tcp *c, const struct sl_tcp_ack *a, bool advanced, bool newly_lost)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);
	uint32_t in_flight = sl_tcp_in_flight(c);
	int64_t sndcnt;

	if (!a->delivered || !t->prior_cwnd || c->cc->controls)
		return;
	t->prr_delivered += a->delivered;
	if (in_flight > c->ssthresh) {
		uint64_t due = (uint64_t)c->ssthresh * t->prr_delivered + t->prior_cwnd - 1;

		sndcnt = (int64_t)(due / t->prior_cwnd) - t->prr_out;
	} else {
		int64_t delta = c->ssthresh - in_flight;

		sndcnt = (int64_t)t->prr_delivered - t->prr_out;
		if (sndcnt < a->delivered)
			sndcnt = a->delivered;
		if (advanced && !newly_lost)
			sndcnt++;
		if (sndcnt > delta)
			sndcnt = delta;
	}
	if (sndcnt < !t->prr_out) /* the first retransmission goes out at once */
		sndcnt = 1;
	if (sndcnt < 0)
		sndcnt = 0;
	c->cwnd = in_flight + (uint32_t)sndcnt;
}

/* Without SACK -------------------------------------------------------------------------------- */

static void add_dupack(struct sl_tcp *c, struct sl_tcp_ack *a, bool dup)
{
	uint32_t out = sl_tcp_pieces_out(c), holes = c->lost_out ? c->lost_out : 1;

	if (!dup)
		return;
	if (c->dupacks < UINT8_MAX)
		c->dupacks++;
	/* A peer cannot have more than what is out but for the holes. */
	if (c->sacked_out + holes < out) {
		c->sacked_out++;
		a->delivered++;
	}
}

static void reset_dupacks(struct sl_tcp *c)
{
	c->sacked_out = 0;
	c->dupacks = 0;
}

/* Without SACK: of the pieces that the ACK covers one was the hole; the others had caused duplicate
 * ACKs before. */
static void eat_dupacks(struct sl_tcp *c, struct sl_tcp_ack *a)
{
	uint32_t counted = a->acked_segs ? a->acked_segs - 1 : 0;

	if (counted > c->sacked_out)
		counted = c->sacked_out;
	a->delivered -= counted < a->delivered ? counted : a->delivered;
	c->sacked_out -= counted;
	if (c->sacked_out + c->lost_out > sl_tcp_pieces_out(c))
		c->sacked_out = sl_tcp_pieces_out(c) - c->lost_out;
}

/* Marks the first piece as lost at the third duplicate ACK and at each partial ACK (RFC 6582
 * 3.2). */
static void newreno_detect(struct sl_tcp *c, bool advanced)
{
	bool lost = c->ca == SL_CA_RECOVERY
			    ? advanced
			    : c->ca < SL_CA_RECOVERY && c->sacked_out >= sl_tcp_dup_thresh(c);

	if (!lost || c->tx_una == c->tx_nxt || sl_tcp_piece(c, c->tx_una)->marks & SL_TXS_LOST)
		return;
	sl_tcp_mark_lost(c, c->tx_una);
}

static void detect(struct sl_tcp *c, bool advanced)
{
	if (!c->sack_ok)
		newreno_detect(c, advanced);
	else if (c->rack_advanced)
		sl_tcp_rack_detect(c);
}

/* True: duplicate ACKs may come of our own needless retransmissions, because nothing above the
 * recovery point is acknowledged (RFC 6582 3.2 step 1). */
static bool must_hold(const struct sl_tcp *c)
{
	return !c->sack_ok && c->snd_una == c->high_seq;
}

/* Recovery ------------------------------------------------------------------------------------ */

/* Ends recovery when high_seq is acknowledged. True: recovery goes on for the time being. */
static bool finish_recovery(struct sl_tcp *c, struct sl_tcp_ack *a)
{
	if (may_undo(c, a))
		undo_reduction(c, false);
	c->frto = 0;
	if (must_hold(c)) {
		if (!was_retransmitted(c))
			c->retrans_stamped = false;
		return true;
	}
	if (c->ca == SL_CA_RECOVERY)
		end_reduction(c);
	c->ca = SL_CA_OPEN; /* undoing stays possible: DSACKs come a round trip later */
	sl_tcp_rack_recovered(c);
	return false;
}

/* Undoes the reduction when a late original has caused a partial ACK. True: mark nothing more as
 * lost now. */
static bool undo_partial(struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	if (!c->can_undo || !was_only_delayed(c, a))
		return false;
	if (c->retx_out)
		return true;
	undo_reduction(c, true);
	keep_open(c);
	return true;
}

static bool undo_by_dsack(struct sl_tcp *c)
{
	if (!c->can_undo || sl_tcp_trouble(c)->undo_retrans)
		return false;
	undo_reduction(c, false);
	return true;
}

/* After an RTO -------------------------------------------------------------------------------- */

static bool undo_loss(struct sl_tcp *c, const struct sl_tcp_ack *a, bool frto)
{
	if (!frto && !may_undo(c, a))
		return false;
	undo_reduction(c, true);
	/* The ACK of the head was not its retransmission's: RACK must not judge by that. */
	c->rack_sent_us = 0;
	c->retries = 0;
	c->frto = 0;
	if (must_hold(c))
		return true;
	if (frto || c->sack_ok)
		c->ca = SL_CA_OPEN;
	return true;
}

/* True: something new can go out now, whatever Nagle says (RFC 5682 2.1 step 2b). */
static bool can_send_new(const struct sl_tcp *c)
{
	uint32_t unsent = c->write_seq - c->snd_nxt, room = c->snd_una + c->snd_wnd - c->snd_nxt;

	if (c->tx_nxt == c->tx_tail || (int32_t)room <= 0 || c->cork)
		return false;
	if (unsent < c->mss && !c->nodelay)
		return false;
	return room >= (unsent < c->mss ? unsent : c->mss);
}

/* F-RTO, with and without SACK (RFC 5682). True: the RTO was spurious, or new data will tell. */
static bool frto(struct sl_tcp *c, struct sl_tcp_ack *a, bool advanced, bool dup)
{
	bool new_out = sl_seq_gt(c->snd_nxt, c->high_seq);

	/* Step 3b: what was never sent again has arrived. Without SACK that means something only
	 * when the retransmission did not just fill a hole. */
	if (a->orig_acked && (c->sack_ok || (advanced && new_out)) && undo_loss(c, a, true))
		return true;
	if (new_out) {
		if (a->sacked_segs || dup)
			c->frto = 0; /* step 3a: there is a hole */
		return false;
	}
	if (dup && !c->sack_ok)
		c->frto = 0; /* step 2a */
	if (!advanced || !c->frto || sl_seq_ge(c->snd_una, c->high_seq))
		return false;
	c->high_seq = c->snd_nxt;
	c->frto = can_send_new(c) ? 2 : 0;
	return c->frto == 2;
}

static void on_ack_in_loss(struct sl_tcp *c, struct sl_tcp_ack *a, bool advanced, bool dup)
{
	if (advanced && undo_loss(c, a, false))
		return;
	if (c->frto && frto(c, a, advanced, dup))
		return;
	if (sl_seq_ge(c->snd_una, c->high_seq)) {
		finish_recovery(c, a);
		return;
	}
	if (!c->sack_ok) {
		if (sl_seq_gt(c->snd_nxt, c->high_seq))
			add_dupack(c, a, dup);
		else if (advanced)
			reset_dupacks(c);
	}
	detect(c, advanced);
}

void sl_tcp_loss_on_rto(struct sl_tcp *c)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);
	bool again = c->ca == SL_CA_LOSS && c->snd_una == t->undo_marker;
	bool was_recovering = c->ca >= SL_CA_RECOVERY;

	if (c->tx_una == c->tx_nxt)
		return;
	tcp_count(c->host, SL_TCPC_RTO, 1);
	t->total_rto++;
	c->tlp_out = false;
	c->reo_at = 0;
	/* Too many were waited for (tcp_enter_loss()). */
	if (c->ca <= SL_CA_DISORDER && c->sacked_out >= sl_tcp_params.reordering)
		t->reordering = sl_min(t->reordering, sl_tcp_params.reordering);
	sl_tcp_mark_all_lost(c);
	/* Once for a window (RFC 5681 3.1), and for each loss of it if there was progress. */
	if (c->ca <= SL_CA_DISORDER || sl_seq_ge(c->snd_una, c->high_seq) ||
	    (c->ca == SL_CA_LOSS && !again)) {
		t->prior_ssthresh = sl_cc_current_ssthresh(c);
		t->prior_cwnd = c->cwnd;
		c->ssthresh = c->cc->ssthresh(c);
		if (c->cc->on_rto)
			c->cc->on_rto(c);
		init_undo(c);
	}
	c->cwnd = sl_tcp_in_flight(c) + 1;
	c->cwnd_cnt = 0;
	c->dupacks = 0;
	c->ca = SL_CA_LOSS;
	c->high_seq = c->snd_nxt;
	if (c->ecn_ok)
		c->cwr_owed = true;
	/* RFC 5682 2.1 step 1, 3.: not in the middle of another recovery */
	c->frto = sl_tcp_params.frto && (!was_recovering || again);
}

/* Probes -------------------------------------------------------------------------------------- */

void sl_tcp_loss_on_tlp(struct sl_tcp *c)
{
	c->tlp_out = true;
	c->tlp_end_seq = c->snd_nxt;
	tcp_count(c->host, SL_TCPC_TLP, 1);
}

/* Looks whether the tail loss probe repaired a loss, which counts as a loss for the window, too
 * (RFC 8985 7.4.2). */
static void on_ack_of_tlp(struct sl_tcp *c, const struct sl_tcp_ack *a, bool advanced)
{
	if (sl_seq_lt(c->snd_una, c->tlp_end_seq))
		return;
	/* NOLINTNEXTLINE(bugprone-branch-clone): in the order of the RFC */
	if (!c->tlp_retrans || a->dsack_tlp) {
		c->tlp_out = false;
	} else if (sl_seq_gt(c->snd_una, c->tlp_end_seq)) {
		c->tlp_out = false;
		if (c->ca > SL_CA_DISORDER)
			return;
		enter_cwr(c);
		end_reduction(c);
		keep_open(c);
	} else if (!advanced && !a->old && !a->data && !a->window_changed && !a->sacked_segs) {
		c->tlp_out = false; /* the probe was a duplicate */
	}
}

/* Call when the reordering window is over (RFC 8985 6.3). */
void sl_tcp_loss_on_reo_timer(struct sl_tcp *c)
{
	uint32_t lost = c->lost;
	struct sl_tcp_ack a = {.delivered = 1};

	c->reo_at = 0;
	sl_tcp_rack_detect(c);
	if (c->lost == lost)
		return;
	if (c->ca < SL_CA_RECOVERY && !sl_tcp_mtup_on_lost(c))
		enter_recovery(c, false);
	if (c->ca == SL_CA_RECOVERY)
		prr(c, &a, false, true);
	sl_tcp_want_out(c);
}

/* Each ACK ------------------------------------------------------------------------------------ */

static void on_ack_in_recovery(struct sl_tcp *c, struct sl_tcp_ack *a, bool advanced, bool dup)
{
	if (advanced && undo_partial(c, a))
		return;
	if (!c->sack_ok)
		add_dupack(c, a, dup);
	if (undo_by_dsack(c))
		keep_open(c);
	detect(c, advanced);
	if (c->ca < SL_CA_RECOVERY && c->lost_out)
		enter_recovery(c, a->ece);
}

static void on_ack_otherwise(struct sl_tcp *c, struct sl_tcp_ack *a, bool advanced, bool dup)
{
	if (!c->sack_ok) {
		if (advanced)
			reset_dupacks(c);
		add_dupack(c, a, dup);
	}
	if (c->ca <= SL_CA_DISORDER)
		undo_by_dsack(c);
	detect(c, advanced);
	if (c->lost_out) {
		if (!sl_tcp_mtup_on_lost(c))
			enter_recovery(c, a->ece);
		return;
	}
	if (!was_retransmitted(c))
		c->retrans_stamped = false;
	if (a->ece)
		sl_tcp_loss_on_ece(c);
	if (c->ca != SL_CA_CWR)
		keep_open(c);
}

static void next_state(struct sl_tcp *c, struct sl_tcp_ack *a, bool advanced, bool dup)
{
	if (!c->sack_ok && advanced)
		eat_dupacks(c, a);
	if (a->ece && c->trouble)
		c->trouble->prior_ssthresh = 0;
	if (c->ca == SL_CA_CWR && sl_seq_gt(c->snd_una, c->high_seq)) {
		end_reduction(c);
		c->ca = SL_CA_OPEN;
	} else if (c->ca == SL_CA_RECOVERY && sl_seq_ge(c->snd_una, c->high_seq)) {
		if (!c->sack_ok)
			reset_dupacks(c);
		if (finish_recovery(c, a))
			return;
	}
	if (c->ca == SL_CA_RECOVERY) {
		on_ack_in_recovery(c, a, advanced, dup);
		return;
	}
	if (c->ca == SL_CA_LOSS)
		on_ack_in_loss(c, a, advanced, dup);
	if (c->ca <= SL_CA_CWR)
		on_ack_otherwise(c, a, advanced, dup);
}

/* True: SACKed data let the window grow before the ACK reaches them, as the path is known to
 * reorder more than the least (tcp_may_raise_cwnd() of Linux). */
static bool is_reordered(const struct sl_tcp *c)
{
	return c->trouble && c->trouble->reordering > sl_tcp_params.reordering;
}

void sl_tcp_loss_on_ack(struct sl_tcp *c, struct sl_tcp_ack *a)
{
	bool advanced = c->snd_una != a->prior_una;
	bool dup = !advanced && !a->old && !a->data && !a->window_changed && c->tx_una != c->tx_nxt;
	uint32_t lost = c->lost;

	if (sl_unlikely(c->cc->on_any_ack))
		c->cc->on_any_ack(c, a);
	if (c->tlp_out)
		on_ack_of_tlp(c, a, advanced);
	/* In the common case nothing is missing, and nothing has been. */
	if (c->ca != SL_CA_OPEN || dup || a->ece || a->dsack || c->sacked_out || c->lost_out ||
	    c->retx_out) {
		next_state(c, a, advanced, dup);
		if (a->ece)
			sl_tcp_trouble(c)->delivered_ce += a->delivered;
	}
	if (a->delivered) {
		c->delivered += a->delivered;
		c->delivered_us = c->host->now_us;
	}
	if (is_reducing(c) && !c->cc->controls)
		prr(c, a, advanced, c->lost != lost);
	else if ((a->delivered && (advanced || is_reordered(c))) || c->cc->controls)
		c->cc->on_ack(c, a->delivered, a->last_rtt_us);
}
