/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: what may go out now, and as what segments (RFC 9293 3.8.6.2.1, 3.10.2).
 *
 * Theory of operation: nobody sends from within input or a call. They put the connection on
 * host->out, and sl_tcp_flush() at the end of the turn calls sl_tcp_output() once: first what
 * recovery wants sent again, then new pieces as far as the congestion window, the peer's window,
 * Nagle and the pace allow, then an ACK if none of these has carried it. A send that the lane
 * refuses puts the connection on host->room, where it waits for sl_tcp_on_room(). When new data are
 * held up and nothing is in flight whose ACK would bring us back here, the persist timer does. */

#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_chrono.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_user.h"

#define PACE_MAX_US 1000000000u /* then it is looked at again */

/* Connections that must send ------------------------------------------------------------------- */

void sl_tcp_want_out(struct sl_tcp *c)
{
	if (sl_unlikely(c->thin))
		sl_tcp_leave_train(c);
	if (c->state != SL_TCP_CLOSED && sl_list_empty(&c->out_node))
		sl_list_add_tail(&c->host->out, &c->out_node);
}

void sl_tcp_no_room(struct sl_tcp *c)
{
	sl_list_del(&c->out_node);
	sl_list_add_tail(&c->host->room, &c->out_node);
}

static void move_all(struct sl_list *from, struct sl_list *to)
{
	while (!sl_list_empty(from)) {
		struct sl_list *n = from->next;

		sl_list_del(n);
		sl_list_add_tail(to, n);
	}
}

void sl_tcp_flush(struct sl_tcp_host *h)
{
	move_all(&h->held, &h->out);
	while (!sl_list_empty(&h->out)) {
		struct sl_tcp *c = sl_container_of(h->out.next, struct sl_tcp, out_node);

		sl_list_del(&c->out_node);
		sl_tcp_output(c);
	}
	h->hold = false;
}

void sl_tcp_on_room(struct sl_tcp_host *h)
{
	move_all(&h->room, &h->out);
	sl_tcp_flush(h);
}

/* A piece as a segment ------------------------------------------------------------------------- */

static uint32_t piece_end(const struct sl_txseg *s)
{
	return s->seq + s->len + !!(s->flags & SL_TCP_FIN);
}

static uint32_t window_end(const struct sl_tcp *c)
{
	return c->snd_una + c->snd_wnd;
}

/* Fills in the urgent pointer (RFC 9293 3.8.5). The pointer has 16 bits: a byte that is further
 * away is said to be at its end. */
static void fill_urgent(const struct sl_tcp *c, struct sl_tcp_seg *seg)
{
	uint32_t ahead = c->snd_up - seg->seq;

	if (!c->urg_out || !sl_seq_lt(seg->seq, c->snd_up))
		return;
	seg->flags |= SL_TCP_URG;
	seg->urg = (uint16_t)sl_min(ahead, (uint32_t)UINT16_MAX);
}

/* Sets the ECN flags (RFC 3168 6.1.2, 6.1.5): for new data only. */
static void fill_ecn(struct sl_tcp *c, struct sl_tcp_seg *seg)
{
	if (!c->ecn_ok || !seg->len)
		return;
	seg->ce = true;
	if (c->cwr_owed)
		seg->flags |= SL_TCP_CWR;
}

static void count_sent(struct sl_tcp *c, const struct sl_txseg *s, bool again)
{
	c->segs_out++;
	if (s->len)
		c->data_segs_out++;
	c->bytes_sent += s->len;
	tcp_count(c->host, again ? SL_TCPC_RETRANS_SEGS : SL_TCPC_OUT_SEGS, 1);
	if (!again)
		return;
	sl_tcp_trouble(c)->total_retrans++;
	sl_tcp_trouble(c)->bytes_retrans += s->len;
}

/* Notes that the program answers quickly: in a conversation data carry the ACKs. */
static void note_answer(struct sl_tcp *c)
{
	if (c->ato_us && c->host->now_us - c->last_rcv_us < c->ato_us)
		c->pingpong = true;
}

/* A segment has no more than half of the largest window that the peer has shown, so that the peer
 * need not empty its buffer before we send again. */
static uint32_t segment_size(const struct sl_tcp *c)
{
	uint32_t half = c->max_window > SL_TCP_MSS_V4 ? c->max_window / 2 : c->max_window;

	return half && half < c->mss ? sl_max(half, 28u) : c->mss;
}

/* Counts the piece at tx_nxt as in flight. */
static void advance(struct sl_tcp *c, const struct sl_txseg *s)
{
	c->tx_nxt++;
	c->snd_nxt = piece_end(s);
	if (s->flags & SL_TCP_FIN)
		c->fin_sent = true;
	if (s->len < segment_size(c)) {
		if (sl_likely(!c->tfo_again)) /* (Nagle's rule takes no notice of those) */
			c->snd_sml = c->snd_nxt;
		c->tfo_again = false;
	}
	note_answer(c);
	sl_tcp_timer_on_sent(c);
}

uint32_t sl_tcp_frame_bytes(const struct sl_tcp *c, uint32_t payload)
{
	bool v4 = sl_addr_is_v4(&c->node.key.remote);

	return payload + 14 + (v4 ? 20 : 40) + 20 + (c->ts_ok ? 12 : 0);
}

/* Sets when a segment leaves. Packets that wait in a NIC are not under way yet, and that time must
 * not count as the path's. */
static void pace_sent(struct sl_tcp *c, struct sl_txseg *s)
{
	struct sl_tcp_opts *o = c->opts;

	if (o->leaves_us)
		s->sent_us = o->leaves_us;
	else
		sl_pace_sent(&o->pace, sl_tcp_frame_bytes(c, s->len), c->host->now_us * 1000, true);
	if (o->rate)
		sl_tcp_rate_on_sent(c, s);
}

static void piece_sent(struct sl_tcp *c, uint32_t i, const struct sl_tcp_seg *seg, bool again)
{
	struct sl_txseg *s = sl_tcp_piece(c, i);

	s->sent += s->sent < UINT8_MAX;
	s->sent_us = c->host->now_us;
	s->tsval = seg->tsval;
	count_sent(c, s, again);
	if (sl_unlikely(c->opts))
		pace_sent(c, s);
	if (seg->flags & SL_TCP_CWR)
		c->cwr_owed = false;
	sl_tcp_loss_on_sent(c, i, again);
	if (!again)
		advance(c, s);
}

/* Cuts the piece to the MSS, and to the open part of the window. False: it must wait. A piece that
 * is sent again beyond a window that was taken back waits, except the first, which serves as a
 * probe. */
static bool fit(struct sl_tcp *c, uint32_t *i, bool again)
{
	const struct sl_txseg *s = sl_tcp_piece(c, *i);
	uint32_t max = c->mss, open = window_end(c) - s->seq;
	bool next = *i == c->tx_nxt;

	if (again && sl_seq_lt(s->seq, window_end(c)))
		max = sl_min(max, open);
	else if (again && s->seq != c->snd_una)
		return false;
	if (sl_likely(s->len <= max))
		return true;
	if (!sl_tcp_snd_split(c, *i, (uint16_t)max))
		return false;
	if (next)
		*i = c->tx_nxt;
	return true;
}

bool sl_tcp_xmit_piece(struct sl_tcp *c, uint32_t i, bool again)
{
	struct sl_tcp_seg seg = {0};
	const struct sl_txseg *s;
	bool all;

	if (!fit(c, &i, again))
		return false;
	s = sl_tcp_piece(c, i);
	seg.seq = s->seq;
	seg.len = s->len;
	seg.flags = s->flags & (SL_TCP_FIN | SL_TCP_PSH);
	sl_tcp_fill_ack(c, &seg);
	all = sl_tcp_fill_sack(c, &seg, c->mss - (s->len < c->mss ? s->len : c->mss));
	fill_urgent(c, &seg);
	if (!again)
		fill_ecn(c, &seg);
	if (!c->host->ops->send(c, &seg, s->frame, s->off, s->sum)) {
		sl_tcp_no_room(c);
		return false;
	}
	if (all)
		sl_tcp_ack_sent(c);
	piece_sent(c, i, &seg, again);
	return true;
}

/* Conditions for sending ----------------------------------------------------------------------- */

/* True: the program is about to write more, and this segment waits for the next write
 * (tcp_should_autocork() of Linux). */
static bool hold(struct sl_tcp *c)
{
	struct sl_tcp_host *h = c->host;

	if (sl_likely(!h->hold))
		return false;
	sl_list_del(&c->out_node);
	sl_list_add_tail(&h->held, &c->out_node);
	tcp_count(h, SL_TCPC_AUTOCORKING, 1);
	return true;
}

/* True: a short segment is in flight. */
static bool is_short_one_out(const struct sl_tcp *c)
{
	return sl_seq_gt(c->snd_sml, c->snd_una) && sl_seq_le(c->snd_sml, c->snd_nxt);
}

/* Nagle's algorithm as Minshall has it: a short segment waits only for an earlier short one. */
static bool is_held_by_nagle(struct sl_tcp *c, const struct sl_txseg *s)
{
	if (s->len >= segment_size(c) || c->tx_nxt + 1 != c->tx_tail)
		return false;
	if (s->flags & SL_TCP_FIN || c->urg_out)
		return false;
	if (c->cork || c->more)
		return !(s->marks & SL_TXS_PUSH);
	if (c->nodelay || c->tx_una == c->tx_nxt)
		return hold(c);
	return is_short_one_out(c);
}

bool sl_tcp_stays_held(const struct sl_tcp *c, size_t more)
{
	const struct sl_txseg *s;

	if (c->nodelay || c->cork || c->more || c->urg_out || c->tx_nxt + 1 != c->tx_tail ||
	    c->tx_una == c->tx_nxt || !is_short_one_out(c))
		return false;
	s = sl_tcp_piece(c, c->tx_nxt);
	return !(s->flags & (SL_TCP_FIN | SL_TCP_SYN)) && s->len + more < segment_size(c);
}

/* How much of the piece the peer's window takes now: all that we would send of it, or, if that is
 * half of the largest window at least, a part (RFC 9293 3.8.6.2.1 (3)); else 0. */
static uint32_t window_takes(const struct sl_tcp *c, const struct sl_txseg *s)
{
	uint32_t open = window_end(c) - s->seq, len = sl_min((uint32_t)s->len, segment_size(c));

	if ((int32_t)open <= 0)
		return 0;
	if (len <= open)
		return len;
	return open >= c->max_window / 2 ? open : 0;
}

/* When the pace allows the next segment to be posted. */
static uint64_t paced_until(struct sl_tcp *c)
{
	const struct sl_tcp_opts *o = c->opts;
	uint64_t own_us = o->rate ? sl_tcp_rate_until(o->rate, c->host->now_us) : 0;
	uint64_t at_us;

	if (!o->nic || !c->host->ops->paced(c, &at_us))
		at_us = o->pace.bytes_s ? (o->pace.next_ns + 999) / 1000 : 0;
	return sl_max(at_us, own_us);
}

/* True: the pace does not allow it yet. The timer comes when it does. */
static bool is_paced(struct sl_tcp *c)
{
	uint64_t now_us = c->host->now_us, at_us;

	if (sl_likely(!c->opts))
		return false;
	at_us = paced_until(c);
	if (at_us <= now_us)
		return false;
	c->host->paced = true;
	c->pace_at = sl_tcp_at(sl_min(at_us, now_us + PACE_MAX_US));
	sl_tcp_timer_rearm(c);
	return true;
}

/* True: a FIN alone. It goes into a shut window, too: most peers take it, and the others answer as
 * to a probe. */
static bool is_bare_fin(const struct sl_txseg *s)
{
	return !s->len && s->flags & SL_TCP_FIN;
}

static bool may_send(const struct sl_tcp *c)
{
	switch (c->state) {
	case SL_TCP_ESTABLISHED:
	case SL_TCP_CLOSE_WAIT:
	case SL_TCP_FIN_WAIT1:
	case SL_TCP_CLOSING:
	case SL_TCP_LAST_ACK:
		return true;
	case SL_TCP_SYN_RCVD: /* RFC 7413 4.2.2 */
		return c->tfo_child;
	default:
		return false;
	}
}

uint32_t sl_tcp_leaves_now(const struct sl_tcp *c)
{
	uint32_t cwnd = sl_tcp_loss_cwnd(c), out = sl_tcp_in_flight(c);
	uint32_t open = window_end(c) - c->snd_nxt, unsent = sl_tcp_unsent(c);
	uint64_t room = cwnd > out ? (uint64_t)(cwnd - out) * c->mss : 0;

	if (c->tx_nxt == c->tx_tail || (int32_t)open <= 0)
		return 0;
	open = sl_min(open, unsent);
	return (uint32_t)sl_min(room, (uint64_t)open);
}

void sl_tcp_push_half(struct sl_tcp *c, uint32_t *pushed)
{
	if (c->write_seq - *pushed <= c->max_window / 2)
		return;
	sl_tcp_piece(c, c->tx_tail - 1)->flags |= SL_TCP_PSH;
	*pushed = c->write_seq;
}

/* Sending what may ----------------------------------------------------------------------------- */

static void send_again(struct sl_tcp *c)
{
	while (sl_tcp_in_flight(c) < sl_tcp_loss_cwnd(c)) {
		uint32_t i = sl_tcp_loss_next(c);
		bool head = i == c->tx_una;

		if (i == c->tx_nxt || is_paced(c) || !sl_tcp_xmit_piece(c, i, true))
			return;
		if (head || !c->rto_at)
			sl_tcp_timer_on_sent_again(c);
	}
}

/* Cuts the next new piece to the size that may go. False: it must wait. */
static bool prepare_next(struct sl_tcp *c)
{
	const struct sl_txseg *s = sl_tcp_piece(c, c->tx_nxt);
	uint32_t len;

	if (is_bare_fin(s))
		return true;
	len = window_takes(c, s);
	if (!len) {
		sl_tcp_chrono_start(c, SL_CHRONO_RWND);
		return false;
	}
	if (sl_unlikely(c->chrono == SL_CHRONO_RWND))
		sl_tcp_chrono_stop(c, SL_CHRONO_RWND);
	if (is_held_by_nagle(c, s))
		return false;
	return len == s->len || sl_tcp_snd_split(c, c->tx_nxt, (uint16_t)len);
}

/* True: everything has been sent, the path would take more, and the program has more, but no room
 * for it (tcp_cwnd_validate() of Linux). */
static bool is_short_of_data(const struct sl_tcp *c)
{
	return c->tx_nxt == c->tx_tail && !sl_cc_is_limited(c) &&
	       (c->state == SL_TCP_ESTABLISHED || c->state == SL_TCP_CLOSE_WAIT);
}

static void send_new(struct sl_tcp *c)
{
	if (c->tx_nxt == c->tx_tail)
		return;
	if (c->tx_una == c->tx_nxt)
		sl_cc_idle_check(c);
	if (sl_unlikely(sl_tcp_mtup(c)) && (is_paced(c) || !sl_tcp_mtup_send(c)))
		return;
	while (c->tx_nxt != c->tx_tail && sl_tcp_in_flight(c) < sl_tcp_loss_cwnd(c)) {
		if (!prepare_next(c) || is_paced(c) || !sl_tcp_xmit_piece(c, c->tx_nxt, false))
			return;
	}
	if (sl_unlikely(c->blocked) && is_short_of_data(c))
		sl_tcp_chrono_start(c, SL_CHRONO_SNDBUF);
}

void sl_tcp_expect(struct sl_tcp *c, bool expects)
{
	c->host->nexpect += expects ? 1 : -1u;
	c->expects = expects;
}

/* True: a segment of the peer is likely to let c send more, or needs an answer at once: Nagle's
 * rule, a window or a cork holds data back, or data after a hole have come. */
static bool expects(const struct sl_tcp *c)
{
	return c->tx_nxt != c->tx_tail || c->noo;
}

void sl_tcp_output_data(struct sl_tcp *c)
{
	if (!may_send(c))
		return;
	if (c->state != SL_TCP_ESTABLISHED && c->state != SL_TCP_CLOSE_WAIT &&
	    c->state != SL_TCP_SYN_RCVD)
		sl_tcp_queue_fin(c); /* there may have been no memory for it */
	if (c->lost_out)
		send_again(c);
	send_new(c);
	sl_tcp_timer_on_window(c);
}

void sl_tcp_output(struct sl_tcp *c)
{
	sl_tcp_output_data(c);
	if (sl_unlikely(c->starved) && c->tx_una == c->tx_tail)
		sl_tcp_write_space(c);
	if (c->ack_now)
		sl_tcp_send_ack(c);
	if (sl_unlikely(expects(c) != c->expects))
		sl_tcp_expect(c, !c->expects);
}

/* The tail loss probe's new data: one segment, whatever the congestion window and Nagle say (RFC
 * 8985 7.3). */
bool sl_tcp_send_one(struct sl_tcp *c)
{
	const struct sl_txseg *s;
	uint32_t len;

	if (c->tx_nxt == c->tx_tail)
		return false;
	s = sl_tcp_piece(c, c->tx_nxt);
	len = is_bare_fin(s) ? 0 : window_takes(c, s);
	if (len != s->len && (!len || !sl_tcp_snd_split(c, c->tx_nxt, (uint16_t)len)))
		return false;
	return sl_tcp_xmit_piece(c, c->tx_nxt, false);
}

/* The persist timer: into a window that is open, however little, goes what fits (the override of
 * RFC 9293 3.8.6.2.1 (4)); at one that is shut goes a probe. */
void sl_tcp_send_persist(struct sl_tcp *c)
{
	const struct sl_txseg *s = sl_tcp_piece(c, c->tx_nxt);
	uint32_t open = window_end(c) - s->seq;

	if ((int32_t)open <= 0 && !is_bare_fin(s)) {
		sl_tcp_send_probe(c, true);
		return;
	}
	open = sl_min(open, segment_size(c));
	if (s->len > open && !sl_tcp_snd_split(c, c->tx_nxt, (uint16_t)open))
		return;
	sl_tcp_xmit_piece(c, c->tx_nxt, false);
}
