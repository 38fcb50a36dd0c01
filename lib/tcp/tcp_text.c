/* SPDX-License-Identifier: BSD-2-Clause */
/* SEGMENT ARRIVES from the sixth step on (RFC 9293 3.10.7.4): the URG bit, the text, the FIN bit.
 */
#include <errno.h>

#include "net/run.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_arrival.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_in.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_tw.h"
#include "tcp/tcp_user.h"
#include "tcp/tcp_window.h"

/* Sixth, check the URG bit --------------------------------------------------------------------- */

static bool is_receiving(const struct sl_tcp *c)
{
	return c->state == SL_TCP_ESTABLISHED || c->state == SL_TCP_FIN_WAIT1 ||
	       c->state == SL_TCP_FIN_WAIT2;
}

/* Takes a new urgent pointer. */
static void new_mark(struct sl_tcp *c, uint32_t up)
{
	if (sl_seq_lt(up, c->copied_seq) || sl_seq_lt(up, c->rcv_nxt))
		return; /* read already, or a replay */
	if (c->urg_in && sl_seq_le(up, c->rcv_up))
		return;
	/* The old urgent byte must not turn into one of the stream when it is the next to read. */
	if (c->urg_in && !c->oobinline && c->rcv_up == c->copied_seq)
		sl_tcp_pass_mark(c);
	c->rcv_up = up;
	c->urg_in = true;
	c->urg_have = c->urg_taken = false;
	sl_tcp_event(c, SL_TCP_EV_URG);
}

static bool check_urg(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	if (!is_receiving(c))
		return true;
	if (a->seg->flags & SL_TCP_URG)
		new_mark(c, a->seq + a->seg->urg - (a->seg->urg && !sl_tcp_params.stdurg));
	/* Its byte may come later than its announcement. */
	if (c->urg_in && !c->urg_have && !c->urg_taken && c->rcv_up - a->seq < a->len) {
		c->urg_byte = sl_frame_ptr(a->frame)[a->off + (c->rcv_up - a->seq)];
		c->urg_have = true;
		sl_tcp_event(c, SL_TCP_EV_URG);
	}
	return true;
}

/* Seventh, process the segment text ------------------------------------------------------------ */

/* Cuts off bytes that are here already and bytes beyond the window (RFC 9293 3.10.7.4: "trimmed").
 * True: there were some, and the peer gets an ACK at once. */
static bool cut_to_window(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	uint32_t end = sl_tcp_window_end(c), have = c->rcv_nxt - a->seq;
	bool cut = false;

	if (sl_seq_lt(a->seq, c->rcv_nxt)) {
		sl_tcp_dsack(c, a->seq, a->seq + sl_min(have, a->len + (uint32_t)a->fin));
		have = sl_min(have, (uint32_t)a->len);
		a->seq += have;
		a->off += (uint16_t)have;
		a->len -= (uint16_t)have;
		cut = true;
	}
	if (sl_seq_gt(a->seq + a->len, end)) {
		a->len = (uint16_t)(end - a->seq);
		a->fin = false;
		cut = true;
	}
	return cut;
}

/* Each ACK tells whether the segments that it covers were marked: what was acknowledged late so far
 * goes before that changes (RFC 8257 3.2; dctcp_ece_ack_update() of Linux). */
static void echo_exactly(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (a->seg->flags & SL_TCP_CWR && a->len) {
		c->ack_now = SL_TCP_ACK_NOW;
		sl_tcp_want_out(c);
	}
	if (a->seg->ce == c->ece_owed)
		return;
	if (c->ack_pending)
		sl_tcp_send_ack(c);
	c->ece_owed = a->seg->ce;
	c->ack_now = SL_TCP_ACK_NOW;
	sl_tcp_want_out(c);
}

/* Notes a congestion mark, and the sender's answer to it: ACKs have ECE until a segment has CWR
 * (RFC 3168 6.1.3). */
static void take_ecn(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (sl_likely(!c->ecn_ok))
		return;
	if (c->cc->ecn) {
		echo_exactly(c, a);
		return;
	}
	if (a->seg->flags & SL_TCP_CWR)
		c->ece_owed = false;
	if (a->seg->ce) {
		c->ece_owed = true;
		c->ack_now = SL_TCP_ACK_NOW;
		sl_tcp_want_out(c);
	}
}

/* Resets a peer that sends data which no program will read (RFC 1122 4.2.2.13). */
static void abort_on_data(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	tcp_count(c->host, SL_TCPC_ABORT_ON_DATA, 1);
	/* The reset answers the segment (RFC 9293 3.10.7.1): the peer may not have our FIN. */
	sl_tcp_reset_reply(c->host, &c->node.key, a->seg, a->from);
	sl_tcp_done(c, sl_tcp_reset_error(c));
}

/* False: the data are welcome. */
static bool refuse_text(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (!c->rx_shut || c->state == SL_TCP_ESTABLISHED ||
	    !sl_seq_gt(a->seq + a->len, c->rcv_nxt))
		return false;
	abort_on_data(c, a);
	return true;
}

/* After the peer's FIN there is only repetition. What begins behind the FIN is dropped without a
 * word, and data that reach beyond it end the connection (tcp_rcv_state_process() of Linux). False:
 * it has ended. */
static bool after_fin(struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	if (sl_seq_ge(a->seq, c->rcv_nxt))
		return true;
	if (a->len && sl_seq_gt(a->seq + a->len, c->rcv_nxt)) {
		abort_on_data(c, a);
		return false;
	}
	sl_tcp_ack_again(c, a->seq, a->seq + a->len + a->fin);
	return true;
}

/* True: what follows a segment in its run is the next that c waits for. */
static bool is_run_next(const struct sl_tcp *c, const struct sl_tcp_arrival *a)
{
	return !c->noo && !c->fin_rcvd && !c->urg_in && !(a->seg->flags & SL_TCP_URG) &&
	       c->rcv_nxt == a->seg->seq + a->seg->len;
}

/* Takes what follows a segment in its run, as far as the window and the queue have room. */
static void take_run(struct sl_tcp *c, struct sl_run *r)
{
	uint32_t end = sl_tcp_window_end(c), first = r->at, n;

	while (r->at < r->n) {
		const struct sl_run_piece *p = &r->piece[r->at];
		bool fin = r->flags & SL_TCP_FIN && r->at + 1 == r->n, kept;
		uint32_t seq = c->rcv_nxt;

		if (sl_seq_gt(seq + p->len, end))
			break;
		kept = sl_tcp_rcv_queue(c, seq, p->frame, p->off, p->len, fin);
		if (c->rcv_nxt == seq)
			break;
		if (!kept)
			sl_frame_spent(c->host->frames, p->frame);
		r->done += p->len;
		r->at++;
	}
	n = r->at - first;
	c->segs_in += n;
	c->data_segs_in += n;
	c->train = (uint8_t)sl_min(c->train + n, (uint32_t)UINT8_MAX);
	tcp_count(c->host, SL_TCPC_IN_SEGS, n);
}

/* The seventh step, the text, and the eighth, the FIN bit, because both go the same way through the
 * queues. */
static bool process_text(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	uint32_t before = c->rcv_nxt;
	bool in_order, fin, push = a->seg->flags & SL_TCP_PSH;
	uint16_t len;

	if (!a->len && !a->fin)
		return true;
	if (!is_receiving(c))
		return after_fin(c, a);
	if (a->len && refuse_text(c, a))
		return false;
	take_ecn(c, a);
	if (cut_to_window(c, a)) {
		c->ack_now = SL_TCP_ACK_NOW;
		sl_tcp_want_out(c);
	}
	if ((!a->len && !a->fin) || sl_seq_le(a->seq + a->len + a->fin, c->rcv_nxt))
		return true;
	len = a->len;
	in_order = a->seq == before && !c->noo;
	a->kept = sl_tcp_rcv_queue(c, a->seq, a->frame, a->off, len, a->fin);
	if (sl_unlikely(a->run) && is_run_next(c, a)) {
		take_run(c, a->run);
		push = a->run->at == a->run->n && a->run->flags & SL_TCP_PSH;
	}
	fin = c->fin_rcvd && c->state == SL_TCP_ESTABLISHED;
	if (len || fin)
		sl_tcp_ack_data(c, len, in_order, push, fin);
	if (c->rcv_nxt == before) {
		c->ack_now = SL_TCP_ACK_NOW; /* RFC 5681 4.2: out of order, or no room */
		sl_tcp_want_out(c);
		return true;
	}
	if (len) {
		sl_tcp_rcv_rtt_ts(c, a->seg);
		sl_tcp_rcv_tune(c);
		sl_tcp_event(c, SL_TCP_EV_IN);
	}
	return true;
}

/* Eighth, check the FIN bit -------------------------------------------------------------------- */

/* Handles the FIN when everything before it has come. */
static void process_fin(struct sl_tcp *c)
{
	if (c->state == SL_TCP_ESTABLISHED) {
		sl_tcp_set_state(c, SL_TCP_CLOSE_WAIT); /* the ACK is on its way */
	} else {
		if (c->state == SL_TCP_FIN_WAIT1) /* fin_acked would have made it FIN_WAIT2 */
			sl_tcp_set_state(c, SL_TCP_CLOSING);
		c->ack_now = SL_TCP_ACK_NOW;
		sl_tcp_want_out(c);
	}
	sl_tcp_event(c, SL_TCP_EV_RDHUP | SL_TCP_EV_IN);
	if (c->state != SL_TCP_FIN_WAIT2)
		return;
	sl_tcp_send_ack(c);
	sl_tcp_time_wait(c, false, SL_TCP_TIMEWAIT_MS);
}

void sl_tcp_text_and_fin(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	bool had_fin = c->fin_rcvd;

	check_urg(c, a);
	if (!process_text(c, a))
		return;
	if (c->fin_rcvd && !had_fin)
		process_fin(c);
}
