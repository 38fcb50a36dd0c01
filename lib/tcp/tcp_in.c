/* SPDX-License-Identifier: BSD-2-Clause */
/* SEGMENT ARRIVES (RFC 9293 3.10.7) has one function for each step, in the RFC's order.
 *
 * Theory of operation: sl_tcp_input() finds the owner of a segment. The steps of a connection
 * run one after the other; each returns false when nothing of the segment is left to handle.
 * A step that ends the connection returns false too, and nobody touches c after it: an orphan's
 * memory is gone then. Output is only marked (ack_now, sl_tcp_want_out()) and leaves in
 * sl_tcp_flush(), so that a batch of input makes one burst of output. From the sixth step on it is
 * in tcp_text.c; LISTEN (3.10.7.2) is in tcp_listen.c, TIME-WAIT in tcp_tw.c. */
#include <errno.h>

#include "tcp/listen/tcp_child.h"
#include "tcp/listen/tcp_fastopen.h"
#include "tcp/listen/tcp_pending.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_metrics.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/loss/tcp_rtt.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_arrival.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_in.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_late.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_tw.h"
#include "tcp/tcp_user.h"
#include "wire/siphash.h"

/* Answers ------------------------------------------------------------------------------------- */

/* RFC 9293 3.10.7.1: resets a segment that belongs to no connection. */
void sl_tcp_reset_reply(struct sl_tcp_host *h, const struct sl_tcp_key *key,
			const struct sl_tcp_seg *seg, void *from)
{
	struct sl_tcp_seg r = {.flags = SL_TCP_RST};

	if (seg->flags & SL_TCP_RST)
		return;
	if (seg->flags & SL_TCP_ACK) {
		r.seq = seg->ack;
	} else {
		r.flags |= SL_TCP_ACK;
		r.ack = seg->seq + sl_seg_seqlen(seg);
	}
	tcp_count(h, SL_TCPC_OUT_RSTS, 1);
	sl_tcp_reply(h, NULL, key, &r, from);
}

/* True: this unexpected segment may be answered. At most one answer goes in tcp_invalid_ratelimit,
 * so that two ends do not keep each other busy. */
static bool is_answer_limited(struct sl_tcp *c)
{
	uint32_t now = (uint32_t)(c->host->now_us >> 10) | 1;

	if (c->challenge_at &&
	    (uint64_t)(now - c->challenge_at) << 10 < sl_tcp_params.invalid_ratelimit_ms * 1000ull)
		return true;
	c->challenge_at = now;
	return false;
}

/* True: a challenge ACK may go. RFC 5961 7 limits them per second for all connections, too. With
 * a known limit a station that counts its own could tell how many others got, and so by forged
 * segments find connections (CVE-2016-5696): the limit of each second is drawn, as by Linux. */
static bool host_may_challenge(struct sl_tcp_host *h)
{
	uint32_t limit = sl_tcp_params.challenge_ack_limit;
	uint64_t drawn;

	if (limit == INT32_MAX)
		return true;
	drawn = (uint32_t)sl_siphash(h->keys->own, &h->now_us, sizeof(h->now_us));
	return sl_tcp_quota_take(&h->challenges,
				 limit - limit / 2 + (uint32_t)(drawn * limit >> 32), h->now_us);
}

void sl_tcp_challenge_ack(struct sl_tcp *c)
{
	if (is_answer_limited(c) || !host_may_challenge(c->host))
		return;
	tcp_count(c->host, SL_TCPC_CHALLENGE_ACK, 1);
	sl_tcp_send_ack(c);
}

void sl_tcp_ack_again(struct sl_tcp *c, uint32_t seq, uint32_t end)
{
	if (sl_seq_lt(seq, end) && sl_seq_lt(seq, c->rcv_nxt))
		sl_tcp_dsack(c, seq, sl_seq_lt(end, c->rcv_nxt) ? end : c->rcv_nxt);
	c->ack_now = SL_TCP_ACK_NOW;
	sl_tcp_want_out(c);
}

/* First, check sequence number ----------------------------------------------------------------- */

static uint32_t window_of(const struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	return (uint32_t)seg->wnd << (seg->flags & SL_TCP_SYN ? 0 : c->snd_wscale);
}

/* True: the segment's window is newer than the one that is known. RFC 9293 3.10.7.4 takes those of
 * the same numbers, too. Of two such ACKs, though, the one with the smaller window may be the older
 * one, so as in Linux they only widen the window, or close it. */
static bool is_window_new(const struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	uint32_t wnd = window_of(c, a->seg);

	return sl_seq_gt(a->seg->ack, c->snd_una) || sl_seq_gt(a->seq, c->snd_wl1) ||
	       (a->seq == c->snd_wl1 && (wnd > c->snd_wnd || !wnd));
}

static bool is_pure_ack(const struct sl_tcp_arrival *a)
{
	return !a->len && !a->fin && !(a->seg->flags & (SL_TCP_SYN | SL_TCP_RST)) &&
	       a->seg->flags & SL_TCP_ACK;
}

/* True: a pure ACK that later ones have overtaken on its way, which takes no longer than a
 * time-out. It does no harm and gets no duplicate ACK. */
static bool is_overtaken_ack(const struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	return is_pure_ack(a) && a->seq == c->rcv_nxt && a->seg->ack == c->snd_una &&
	       !is_window_new(c, a) && c->ts_recent - a->seg->tsval <= c->rto_us / 1000 * 12 / 10;
}

/* RFC 7323 5.3 R1, 5.5 */
static bool is_paws_violated(const struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (!c->ts_ok || !(a->seg->opts & SL_TCPO_TS) || a->seg->flags & SL_TCP_RST)
		return false;
	if (!sl_seq_lt(a->seg->tsval, c->ts_recent) ||
	    sl_tcp_paws_now(c->host) - c->ts_recent_at > SL_TCP_PAWS_IDLE)
		return false;
	return !is_overtaken_ack(c, a);
}

/* The test of RFC 9293 table 6, but a segment that touches the window counts as inside: the peer
 * may have sent this ACK when it had filled the window (3.10.7.4: "special allowance"), or before
 * our last ACK arrived there. */
static bool is_in_window(const struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	uint32_t end = a->seq + a->len + a->fin + !!(a->seg->flags & SL_TCP_SYN);

	return sl_seq_ge(end, c->rcv_wup) && sl_seq_le(a->seq, sl_tcp_window_end(c));
}

/* RFC 5961 4.2 */
static void challenge_syn(struct sl_tcp *c)
{
	tcp_count(c->host, SL_TCPC_IN_ERRS, 1);
	sl_tcp_challenge_ack(c);
}

/* True: seq is the one at which a peer resets that has forgotten its FIN, as BSD does. */
static bool is_before_fin(const struct sl_tcp *c, uint32_t seq)
{
	return seq == c->rcv_nxt - 1 && (c->state == SL_TCP_CLOSE_WAIT ||
					 c->state == SL_TCP_LAST_ACK || c->state == SL_TCP_CLOSING);
}

static bool check_sequence(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	bool paws = is_paws_violated(c, a);

	if (!paws && is_in_window(c, a))
		return true;
	if (paws)
		tcp_count(c->host, SL_TCPC_PAWS, 1);
	if (paws && is_pure_ack(a) && sl_seq_lt(a->seq, c->rcv_nxt)) /* (such are common) */
		return false;
	if (a->seg->flags & SL_TCP_RST)
		return is_before_fin(c, a->seq);
	if (a->seg->flags & SL_TCP_SYN)
		challenge_syn(c);               /* whatever its number */
	else if (!(a->seg->flags & SL_TCP_ACK)) /* Linux answers none of these */
		return false;
	else if (a->len || a->fin || !is_answer_limited(c))
		sl_tcp_ack_again(c, a->seq, a->seq + a->len + a->fin);
	return false;
}

/* Second, check the RST bit -------------------------------------------------------------------- */

int sl_tcp_reset_error(const struct sl_tcp *c)
{
	switch (c->state) {
	case SL_TCP_SYN_SENT:
		return ECONNREFUSED;
	case SL_TCP_CLOSE_WAIT:
		return EPIPE;
	default:
		return ECONNRESET;
	}
}

/* True: a reset with this number is believed (RFC 5961 3.2). As in Linux, a peer that was told of
 * data beyond a hole may reset behind them. */
static bool is_reset_number(const struct sl_tcp *c, uint32_t seq)
{
	uint32_t last;

	if (seq == c->rcv_nxt || is_before_fin(c, seq))
		return true;
	if (!c->nlast_sack)
		return false;
	last = c->ooo->last_sack[0].end;
	for (uint8_t i = 1; i < c->nlast_sack; i++)
		if (sl_seq_gt(c->ooo->last_sack[i].end, last))
			last = c->ooo->last_sack[i].end;
	return seq == last;
}

static bool check_rst(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	if (!(a->seg->flags & SL_TCP_RST))
		return true;
	if (!is_reset_number(c, a->seq)) {
		sl_tcp_challenge_ack(c);
		return false;
	}
	sl_tcp_pending_reset(c);
	sl_tcp_done(c, sl_tcp_reset_error(c));
	return false;
}

/* Third, security: nobody's. Fourth, check the SYN bit ----------------------------------------- */

static bool check_syn(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	if (!(a->seg->flags & SL_TCP_SYN))
		return true;
	/* Simultaneous open: the peer's SYN again, now with the ACK of ours (3.5, figure 8). It has
	 * an answer, as any segment from the past: the peer may wait for the ACK of its SYN. */
	if (c->state == SL_TCP_SYN_RCVD && a->seg->flags & SL_TCP_ACK && a->seq == c->irs &&
	    a->seg->ack == c->snd_nxt && !a->len && !a->fin) {
		sl_tcp_ack_again(c, a->seq, a->seq + 1);
		a->seq++;
		return true;
	}
	/* A Fast Open child answers the SYN again, as its request would. */
	if (c->tfo_child && c->state == SL_TCP_SYN_RCVD && a->seq == c->irs &&
	    !is_answer_limited(c))
		sl_tcp_send_syn(c);
	else
		challenge_syn(c);
	return false;
}

/* Fifth, check the ACK field ------------------------------------------------------------------- */

/* Keeps the peer's time stamp (RFC 7323 4.3 (2), with 5.3 R3): only a segment at the left edge of
 * the window counts. */
static void take_timestamp(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (!c->ts_ok || !(a->seg->opts & SL_TCPO_TS) || sl_seq_gt(a->seq, c->rcv_wup))
		return;
	if (sl_seq_lt(a->seg->tsval, c->ts_recent) &&
	    sl_tcp_paws_now(c->host) - c->ts_recent_at <= SL_TCP_PAWS_IDLE)
		return;
	c->ts_recent = a->seg->tsval;
	c->ts_recent_at = sl_tcp_paws_now(c->host);
}

/* How long ago the clock value was sent that the segment echoes. 0: it tells nothing. */
static uint32_t timestamp_rtt_us(const struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	uint32_t ms;

	if (!c->ts_ok || !(seg->opts & SL_TCPO_TS) || !seg->tsecr)
		return 0;
	/* After a time-out, an echo from before it: was the ACK late, or is it the answer to a
	 * duplicate because the first one was lost? The latter would make RTTs of time-outs, and
	 * time-outs of those. Data that are sent only once will tell (Karn). */
	if (c->backoff && c->retrans_stamped && c->trouble &&
	    sl_seq_lt(seg->tsecr, c->trouble->retrans_tsval))
		return 0;
	ms = sl_tcp_tsval(c) - seg->tsecr;
	if (ms > 600000)
		return 0;
	return ms ? ms * 1000 : 1000;
}

/* True: the window is another one now. */
static bool take_window(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	uint32_t wnd = window_of(c, a->seg);
	bool changed = wnd != c->snd_wnd;

	if (!is_window_new(c, a))
		return false;
	c->snd_wl1 = a->seq;
	c->snd_wnd = wnd;
	c->max_window = sl_max(c->max_window, wnd);
	return changed;
}

/* Returns the piece behind the last one that ack covers as a whole. */
static uint32_t covered(const struct sl_tcp *c, uint32_t ack)
{
	uint32_t i;

	for (i = c->tx_una; i != c->tx_nxt; i++) {
		const struct sl_txseg *s = sl_tcp_piece(c, i);

		if (sl_seq_gt(s->seq + s->len + !!(s->flags & SL_TCP_FIN), ack))
			break;
	}
	return i;
}

/* SND.UNA < SEG.ACK =< SND.NXT */
static void advance(struct sl_tcp *c, const struct sl_tcp_arrival *a, struct sl_tcp_ack *k)
{
	uint32_t ack = a->seg->ack;

	sl_tcp_loss_cum(c, covered(c, ack), k);
	c->bytes_acked += ack - c->snd_una;
	c->snd_una = ack;
	sl_tcp_snd_drop(c, ack);
	c->more = false; /* MSG_MORE holds until an ACK comes (tcp_data_snd_check() of Linux) */
	if (c->fin_sent && ack == c->write_seq)
		c->fin_acked = true;
	if (sl_unlikely(c->opts))
		sl_tcp_mtup_on_acked(c);
	if (c->urg_out && sl_seq_ge(ack, c->snd_up))
		c->urg_out = false;
	c->soft_error = 0;
}

/* True: the acknowledgement tells nothing new, as in each segment that a peer sends us one after
 * the other while we send nothing. Only the window may be another one. */
static bool is_ack_known(const struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	return seg->ack == c->snd_una && c->tx_una == c->tx_tail && !c->tlp_out &&
	       !(seg->opts & SL_TCPO_SACK);
}

/* Sends what earlier ACKs of this turn allow, before one that tells of a hole changes that. By
 * Linux the segments of each ACK have left when the next one comes. A recovery that finds less in
 * flight sends less: without these it stood for a round trip. */
static void send_before_hole(struct sl_tcp *c)
{
	if (c->ca <= SL_CA_DISORDER && c->tx_nxt != c->tx_tail && !sl_list_empty(&c->out_node))
		sl_tcp_output_data(c);
}

/* Handles an acceptable ACK. */
static void take_ack(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	const struct sl_tcp_seg *seg = a->seg;
	bool moved = sl_seq_gt(seg->ack, c->snd_una), old = sl_seq_lt(seg->ack, c->snd_una);
	bool outstanding = sl_tcp_pieces_out(c);
	struct sl_tcp_ack k = {
		.prior_una = c->snd_una,
		.ece = c->ecn_ok && seg->flags & SL_TCP_ECE,
		.data = a->len || a->fin,
		.old = old,
	};

	if (sl_unlikely(seg->nsack) || (sl_unlikely(!c->sack_ok) && !moved && !k.data))
		send_before_hole(c);
	if (!old)
		k.window_changed = take_window(c, a);
	sl_tcp_loss_sack(c, seg, &k);
	if (moved) {
		advance(c, a, &k);
		/* A segment that came twice was answered before; that answer was lost, and the
		 * echo is from then. */
		if (!k.rtt_us && !k.dsack)
			k.rtt_us = timestamp_rtt_us(c, seg);
	}
	if (k.rtt_us)
		sl_tcp_rtt_sample(c, k.rtt_us);
	/* An answer to a needless retransmission often finds nothing in flight. */
	if (outstanding || k.dsack || c->tlp_out)
		sl_tcp_loss_on_ack(c, &k);
	if (moved)
		sl_tcp_timer_on_acked(c);
	sl_tcp_timer_on_window(c);
	if (c->tx_una != c->tx_tail)
		sl_tcp_want_out(c);
	if (moved) {
		if (c->want_out)
			sl_tcp_sndbuf_grow(c);
		sl_tcp_event(c, SL_TCP_EV_SENT);
		sl_tcp_write_space(c);
	}
}

/* SYN-RECEIVED STATE: the handshake is complete. */
static bool complete_open(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (!sl_seq_gt(a->seg->ack, c->snd_una) || sl_seq_gt(a->seg->ack, c->snd_nxt)) {
		sl_tcp_reset_reply(c->host, &c->node.key, a->seg, a->from);
		return false;
	}
	sl_tcp_established(c, a->seg, a->seq);
	if (c->tx_shut)
		sl_tcp_send_fin(c);
	return true;
}

/* True: the segment has something that ends FIN_WAIT2: the FIN, or data that no program will
 * read. */
static bool is_last_word(const struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	uint32_t end = a->seq + a->len;

	return (a->len && sl_seq_gt(end, c->rcv_nxt)) || (a->fin && end == c->rcv_nxt);
}

/* Our FIN is acknowledged: enters the next state. False: c has ended. */
static bool on_fin_acked(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	switch (c->state) {
	case SL_TCP_FIN_WAIT1:
		sl_tcp_set_state(c, SL_TCP_FIN_WAIT2);
		if (!c->orphan || is_last_word(c, a))
			return true;
		sl_tcp_orphan_fin_wait2(c);
		return false;
	case SL_TCP_CLOSING:
		sl_tcp_time_wait(c, false, SL_TCP_TIMEWAIT_MS);
		return false;
	case SL_TCP_LAST_ACK:
		sl_tcp_metrics_keep(c);
		sl_tcp_note_wait(c, false);
		sl_tcp_done(c, 0);
		return false;
	default:
		return true;
	}
}

static bool check_ack(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	uint32_t ack = a->seg->ack, oldest;

	if (!(a->seg->flags & SL_TCP_ACK))
		return false;
	if (c->state == SL_TCP_SYN_RCVD && !complete_open(c, a))
		return false;
	/* RFC 5961 5.2; no ACK is older than the connection. */
	oldest = c->snd_una - (uint32_t)sl_min((uint64_t)c->max_window, c->bytes_acked);
	if (sl_seq_gt(ack, c->snd_nxt) || sl_seq_lt(ack, oldest)) {
		sl_tcp_challenge_ack(c);
		return false;
	}
	take_timestamp(c, a);
	if (is_ack_known(c, a->seg))
		take_window(c, a);
	else
		take_ack(c, a);
	return c->fin_acked ? on_fin_acked(c, a) : true;
}

/* SYN-SENT STATE (3.10.7.3) -------------------------------------------------------------------- */

void sl_tcp_established(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t seq)
{
	uint32_t rtt_us = (uint32_t)sl_min(c->host->now_us - c->born_us, UINT64_C(60000000));
	uint32_t reordering, cwnd_most = 0;

	c->snd_una = c->iss + 1; /* data of a Fast Open child are check_ack()'s */
	sl_tcp_tfo_answer(c, seg);
	c->snd_wnd = (uint32_t)seg->wnd << (seg->flags & SL_TCP_SYN ? 0 : c->snd_wscale);
	if (c->child && !c->tfo_child) /* as a child of Linux', which knows nothing of the SYN's */
		c->max_window = 0;
	c->max_window = sl_max(c->max_window, c->snd_wnd);
	c->snd_wl1 = seq;
	if (!c->retries) /* RFC 6298 3: Karn */
		sl_tcp_rtt_sample(c, sl_max(rtt_us, 1u));
	else if (timestamp_rtt_us(c, seg))
		sl_tcp_rtt_sample(c, timestamp_rtt_us(c, seg));
	else
		sl_tcp_rtt_none(c);
	reordering = sl_tcp_metrics_begin(c, &cwnd_most);
	if (reordering)
		sl_tcp_trouble(c)->reordering = reordering;
	if (sl_unlikely(cwnd_most)) {
		sl_tcp_opts(c)->cwnd_most = cwnd_most;
		sl_tcp_cap_cwnd(c);
	}
	if (c->retries > 1) /* RFC 5681 3.1: a lost SYN is a sign of congestion */
		c->cwnd = 1;
	c->retries = 0;
	sl_cc_opened(c);
	sl_tcp_set_state(c, SL_TCP_ESTABLISHED);
	sl_tcp_start_buffers(c);
	sl_tcp_timer_on_acked(c);
	sl_tcp_timer_on_alive(c);
	c->want_out = false;
	sl_tcp_pending_done(c);
	sl_tcp_event(c, c->child ? SL_TCP_EV_OUT : SL_TCP_EV_CONNECTED | SL_TCP_EV_OUT);
}

/* Takes from the peer's SYN its initial sequence number and its options. */
void sl_tcp_take_syn(struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	c->irs = seg->seq;
	c->rcv_nxt = c->rcv_wup = c->copied_seq = seg->seq + 1;
	if (sl_unlikely(c->filtered)) /* since before connect() */
		c->pass_seq = c->copied_seq;
	c->rcv_up = seg->seq;
	c->snd_wl1 = seg->seq;
	c->snd_wnd = c->max_window = seg->wnd; /* never scaled in a SYN (RFC 7323 2.2) */
	sl_tcp_take_syn_options(c, seg);
}

/* First, check the ACK bit. */
static bool syn_sent_check_ack(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	const struct sl_tcp_seg *seg = a->seg;

	if (!(seg->flags & SL_TCP_ACK) ||
	    (sl_seq_gt(seg->ack, c->iss) && sl_seq_le(seg->ack, c->snd_nxt)))
		return true;
	sl_tcp_reset_reply(c->host, &c->node.key, seg, a->from);
	/* The peer may be in TIME_WAIT of a connection that another program had from this port. The
	 * reset ends that, and the next SYN, which follows it on the wire, is welcome. (Linux sends
	 * it after two ticks: tcp_rcv_synsent_state_process().) A later answer of this kind waits
	 * for the timer: the peer keeps TIME_WAIT in spite of resets (RFC 1337). */
	if (!(seg->flags & SL_TCP_RST) && !c->retries) {
		c->retries++;
		sl_tcp_send_syn(c);
	}
	return false;
}

static void syn_sent(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	const struct sl_tcp_seg *seg = a->seg;
	bool ack = seg->flags & SL_TCP_ACK;

	if (!syn_sent_check_ack(c, a))
		return;
	if (seg->flags & SL_TCP_RST) { /* second: the ACK was acceptable, if there is one */
		if (ack)
			sl_tcp_done(c, ECONNREFUSED);
		return;
	}
	if (!(seg->flags & SL_TCP_SYN)) /* fourth, fifth */
		return;
	sl_tcp_take_syn(c, seg);
	if (!ack) { /* simultaneous open */
		if ((seg->flags & (SL_TCP_ECE | SL_TCP_CWR)) == (SL_TCP_ECE | SL_TCP_CWR))
			c->ecn_ok = sl_tcp_params.ecn_in || c->cc->ecn || sl_tcp_opt(c, route_ecn);
		sl_tcp_set_state(c, SL_TCP_SYN_RCVD);
		sl_tcp_send_syn(c);
		return;
	}
	/* RFC 3168 6.1.1 */
	c->ecn_ok = sl_tcp_asks_ecn(c) && (seg->flags & SL_TCP_ECE) && !(seg->flags & SL_TCP_CWR);
	sl_tcp_established(c, seg, seg->seq);
	sl_tcp_ack_synack(c);
	sl_tcp_want_out(c);
	a->seq++; /* text with the SYN is text */
	sl_tcp_text_and_fin(c, a);
}

/* Finding the connection ----------------------------------------------------------------------- */

/* OTHER STATES (3.10.7.4) */
static void other_states(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	if (!check_sequence(c, a) || !check_rst(c, a) || !check_syn(c, a) || !check_ack(c, a))
		return;
	sl_tcp_timer_on_alive(c);
	sl_tcp_text_and_fin(c, a);
}

bool sl_tcp_arrives(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	if (sl_unlikely(c->frozen))
		return false;
	c->segs_in++;
	c->data_segs_in += !!a->len;
	if (c->state == SL_TCP_CLOSED)
		sl_tcp_reset_reply(c->host, &c->node.key, a->seg, a->from);
	else if (c->state == SL_TCP_SYN_SENT)
		syn_sent(c, a);
	else
		other_states(c, a);
	return a->kept;
}

bool sl_tcp_conn_input(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	tcp_count(c->host, SL_TCPC_IN_SEGS, 1);
	return sl_tcp_arrives(c, a);
}

bool sl_tcp_input(struct sl_tcp_host *h, const struct sl_tcp_key *key, struct sl_tcp_listener *l,
		  struct sl_tcp_arrival *a)
{
	struct sl_tcp_node *n = sl_tcp_table_find(h, key);
	uint32_t isn = 0;

	tcp_count(h, SL_TCPC_IN_SEGS, 1);
	if (n && n->kind == SL_TCP_CONN)
		return sl_tcp_arrives(sl_container_of(n, struct sl_tcp, node), a);
	if (n && n->kind == SL_TCP_REQ)
		return sl_tcp_req_input(h, n, a);
	if (n && !sl_tcp_tw_input(h, n, a->seg, a->from, &isn))
		return false;
	if (l && !l->closed)
		return sl_tcp_listen_input(h, l, key, a, isn);
	sl_tcp_reset_reply(h, key, a->seg, a->from);
	return false;
}

struct sl_tcp *sl_tcp_find(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	struct sl_tcp_node *n = sl_tcp_table_find(h, key);

	return n && n->kind == SL_TCP_CONN ? sl_container_of(n, struct sl_tcp, node) : NULL;
}

bool sl_tcp_knows(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	return sl_tcp_table_find(h, key) != NULL;
}
