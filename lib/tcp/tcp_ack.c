/* SPDX-License-Identifier: BSD-2-Clause */
/* Acknowledging: at once, or later in the hope that data go the same way (RFC 1122 4.2.3.2, RFC
 * 5681 4.2).
 *
 * Theory of operation: as Linux (net/ipv4/tcp_input.c), whose timing peers and programs are used
 * to. The first segments of a connection, and those after a pause, are acknowledged one by one, so
 * that the peer's window opens quickly (c->quick). Then every second full segment is, and what
 * remains after ato, an estimate of the time between segments, 40 to 200 ms. A program that answers
 * within ato has a conversation (pingpong): its answers carry the ACKs.
 *
 * Full segments that come as fast as they can be taken in are a train. One ACK covers up to
 * THIN_SEGS of them, as Linux sends one for segments that GRO has put together ("every second" is a
 * SHOULD), because an ACK costs both sides as much as a segment. The end of the train, a push and
 * urgent data are acknowledged as usual. */

#include "tcp/listen/tcp_fastopen.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_opts.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_window.h"

#define MAX_QUICK  16u
#define MAX_ATO_US 500000u
/* The peer's FIN is the first that came: Linux, which has no estimate then, waits for a tick, in
 * which our FIN may follow. */
#define FIRST_FIN_US 2000u
#define MSS_DEFAULT  536u
#define MSS_LEAST    88u
#define TS_OPT_BYTES 12u

/* When full segments form a train, and how long its ACK is held back. */
#define TRAIN_LEAST  16u /* full segments that came */
#define TRAIN_GAP_US 16u /* so close upon each other, at most */
#define TRAIN_END_US 5u  /* a lane that is turned so often sees the train's end after this */
#define THIN_SEGS    32u
#define THIN_US      32u /* and what the wheel's tick adds */

static uint32_t ato_min_us(void)
{
	return sl_tcp_params.delack_min_ms * 1000u;
}

/* The longest delay: an ACK must not come after the peer's least time-out (tcp_delack_max()). */
static uint32_t delack_max_us(const struct sl_tcp *c)
{
	uint32_t most = sl_max(sl_tcp_rto_min_ms(c), 2u) - 1;

	return sl_min(sl_tcp_params.delack_max_ms, most) * 1000u;
}

/* TCP_QUICKACK overrules the guess whether the program answers. */
static bool is_pingpong(const struct sl_tcp *c)
{
	return c->quickack_user == 1 || (c->pingpong && c->quickack_user != 2);
}

/* True: acknowledge at once. The ACK of a large segment may wait all the same, because sending it
 * takes as long as reading the next one (the manual's TCP_QUICKACK_THRESHOLD). */
static bool is_quick(const struct sl_tcp *c, uint32_t len)
{
	if (sl_unlikely(c->quickack_user == 2 || sl_tcp_params.quickack)) {
		if (sl_tcp_params.quickack_max && len > sl_tcp_params.quickack_max)
			return false;
		if (sl_tcp_params.quickack)
			return true;
	}
	return (c->quick && !is_pingpong(c)) || sl_tcp_opt(c, route_quickack);
}

/* Lets as many ACKs go at once as the peer may need to open its window by half. */
static void go_quick(struct sl_tcp *c)
{
	uint32_t n = c->rcv_mss ? c->rcv_wnd / (2u * c->rcv_mss) : 2;

	n = n ? sl_min(n, MAX_QUICK) : 2;
	if (n > c->quick)
		c->quick = (uint8_t)n;
}

/* Estimates the peer's segment size: the largest segment, or a shorter length seen twice without
 * PSH (its MSS is smaller than ours). */
static void estimate_rcv_mss(struct sl_tcp *c, uint32_t len, bool push)
{
	if (len >= c->rcv_mss) {
		c->rcv_mss = (uint16_t)(c->adv_mss ? sl_min(len, (uint32_t)c->adv_mss) : len);
		return;
	}
	if (len >= MSS_DEFAULT || (len >= MSS_LEAST && !push)) {
		bool again = c->last_seg == len;

		c->last_seg = (uint16_t)len;
		if (again) {
			c->rcv_mss = (uint16_t)len;
			return;
		}
	}
	c->rcv_push = true;
}

/* Updates the average time between segments. */
static void estimate_ato(struct sl_tcp *c)
{
	uint64_t now = c->host->now_us, gap = now - c->last_rcv_us;
	uint32_t least = ato_min_us();

	if (!c->ato_us) {
		go_quick(c);
		c->ato_us = least;
	} else if (gap <= least / 2) {
		c->ato_us = c->ato_us / 2 + least / 2;
	} else if (gap < c->ato_us) {
		c->ato_us = c->ato_us / 2 + (uint32_t)gap;
		if (c->ato_us > c->rto_us)
			c->ato_us = c->rto_us;
	} else if (gap > c->rto_us) {
		go_quick(c); /* the peer begins again with a small window */
	}
	c->last_rcv_us = now;
}

/* True: more than one full segment is not acknowledged yet. */
static bool is_enough(const struct sl_tcp *c)
{
	uint32_t owed = c->rcv_nxt - c->rcv_wup;

	if (sl_tcp_params.ack_every_bytes)
		return owed >= sl_tcp_params.ack_every_bytes;
	return owed > c->rcv_mss;
}

static void count_train(struct sl_tcp *c, uint32_t len, bool in_order)
{
	if (in_order && len >= c->rcv_mss && c->host->now_us - c->last_rcv_us <= TRAIN_GAP_US)
		c->train += c->train < UINT8_MAX;
	else
		c->train = 0;
}

/* True: more segments are expected within microseconds. The peer has sent a train without a pause;
 * its window, which is not known here, has room left if it is not smaller than a train; and little
 * of the announced window is used. */
static bool may_thin(const struct sl_tcp *c, bool push)
{
	uint32_t owed = c->rcv_nxt - c->rcv_wup;

	return c->train >= TRAIN_LEAST && !push && !c->ack_now && owed < THIN_SEGS * c->rcv_mss &&
	       owed < c->rcv_wnd / 8;
}

static void thin(struct sl_tcp *c)
{
	c->host->train_us = c->host->now_us;
	sl_tcp_timer_thin(c, THIN_US);
	if (!sl_list_empty(&c->out_node)) /* c will send anyway, or its ACK is held back already */
		return;
	c->thin = true;
	sl_list_add_tail(&c->host->trains, &c->out_node);
}

void sl_tcp_leave_train(struct sl_tcp *c)
{
	c->thin = false;
	sl_list_del(&c->out_node);
}

bool sl_tcp_end_trains(struct sl_tcp_host *h, bool now)
{
	if (sl_likely(sl_list_empty(&h->trains)) ||
	    (!now && h->now_us - h->train_us < TRAIN_END_US))
		return false;
	while (!sl_list_empty(&h->trains)) {
		struct sl_tcp *c = sl_container_of(h->trains.next, struct sl_tcp, out_node);

		c->ack_now = SL_TCP_ACK_NOW;
		sl_tcp_want_out(c);
	}
	return true;
}

/* Sends an ACK at once, or sets the timer for it. */
static void owe_ack(struct sl_tcp *c, uint32_t len, bool in_order, bool push)
{
	bool quick = is_quick(c, len), enough = is_enough(c) || !in_order;

	c->ack_pending = true;
	if (!quick && in_order && enough && may_thin(c, push)) {
		thin(c);
	} else if (quick || enough) {
		c->ack_now =
			enough || c->ack_now == SL_TCP_ACK_NOW ? SL_TCP_ACK_NOW : SL_TCP_ACK_QUICK;
		sl_tcp_want_out(c);
		if (!sl_timer_is_armed(&c->timer))
			sl_tcp_timer_rearm(c);
	} else if (!c->ack_now) {
		sl_tcp_timer_delack(c);
	}
}

/* The FIN comes in the turn of the data before it, whose ACK has not left. The program that reads
 * both is likely to close, and its FIN acknowledges all: so does Linux with a FIN that GRO has put
 * to the data. It waits no longer than for a FIN alone. */
static void wait_for_close(struct sl_tcp *c)
{
	c->ack_now = 0;
	c->delack_at = sl_tcp_at(c->host->now_us + FIRST_FIN_US);
	sl_tcp_timer_rearm(c);
}

void sl_tcp_ack_data(struct sl_tcp *c, uint32_t len, bool in_order, bool push, bool fin)
{
	bool quick = c->ack_now == SL_TCP_ACK_QUICK;

	if (len) {
		estimate_rcv_mss(c, len, push);
		count_train(c, len, in_order);
		estimate_ato(c);
	}
	c->pingpong |= fin; /* as tcp_fin() of Linux: the program's own may follow at once */
	owe_ack(c, len, in_order, push);
	if (fin && quick && c->ack_now == SL_TCP_ACK_QUICK)
		wait_for_close(c);
}

/* Acknowledges the answer to our SYN, as tcp_rcv_synsent_state_process() of Linux does: at once,
 * unless data are about to go, which can carry the ACK. */
void sl_tcp_ack_synack(struct sl_tcp *c)
{
	if (!c->data_follow && !is_pingpong(c)) {
		c->ack_now = SL_TCP_ACK_NOW;
		return;
	}
	go_quick(c);
	c->pingpong = false;
	c->ack_pending = true;
	c->ato_us = ato_min_us();
	c->last_rcv_us = c->host->now_us;
	c->delack_at = sl_tcp_at(c->host->now_us + delack_max_us(c));
	sl_tcp_timer_rearm(c);
}

/* When a delayed ACK is due: ato, but no more than a round trip or 200 ms (500 ms are allowed). */
void sl_tcp_timer_delack(struct sl_tcp *c)
{
	uint32_t least = ato_min_us(), most = MAX_ATO_US;
	uint32_t ato = c->ato_us ? c->ato_us : FIRST_FIN_US;
	uint64_t now = c->host->now_us, at;

	if (ato > least) {
		if (is_pingpong(c) || c->rcv_push)
			most = delack_max_us(c);
		if (c->srtt_us)
			most = sl_min(most, c->srtt_us > least ? c->srtt_us : least);
		ato = sl_min(ato, most);
	}
	ato = sl_min(ato, delack_max_us(c));
	at = now + ato;
	if (c->delack_at) {
		if (sl_tcp_at_us(c, c->delack_at) <= now + ato / 4) { /* about to expire */
			c->ack_now = SL_TCP_ACK_NOW;
			sl_tcp_want_out(c);
			return;
		}
		at = sl_min(at, sl_tcp_at_us(c, c->delack_at));
	}
	c->delack_at = sl_tcp_at(at);
	sl_tcp_timer_rearm(c);
}

/* Sends the delayed ACK alone: no data have carried it. */
void sl_tcp_ack_late(struct sl_tcp *c)
{
	c->delack_at = 0;
	if (!c->ack_pending)
		return;
	if (is_enough(c)) {
		; /* it was not delayed, but held back */
	} else if (!is_pingpong(c)) {
		c->ato_us = sl_min(2 * c->ato_us, c->rto_us);
	} else {
		c->pingpong = false;
		c->ato_us = ato_min_us();
	}
	c->ack_now = SL_TCP_ACK_NOW;
	sl_tcp_want_out(c);
}

void sl_tcp_ack_sent(struct sl_tcp *c)
{
	if (c->thin)
		sl_tcp_leave_train(c);
	c->ack_pending = c->have_dsack = c->rcv_push = false;
	c->ack_now = 0;
	c->delack_at = 0;
	if (c->quick && !--c->quick)
		c->ato_us = ato_min_us();
}

/* Building ------------------------------------------------------------------------------------- */

/* Fills the fields of every segment of a synchronised connection. Moves the window. */
void sl_tcp_fill_ack(struct sl_tcp *c, struct sl_tcp_seg *seg)
{
	uint32_t wnd = sl_tcp_select_window(c) >> c->rcv_wscale;

	seg->flags |= SL_TCP_ACK;
	seg->ack = c->rcv_nxt;
	seg->wnd = (uint16_t)sl_min(wnd, (uint32_t)UINT16_MAX);
	if (c->ts_ok) {
		seg->opts |= SL_TCPO_TS;
		seg->tsval = sl_tcp_tsval(c);
		seg->tsecr = c->ts_recent;
	}
	if (c->ecn_ok && c->ece_owed)
		seg->flags |= SL_TCP_ECE;
	seg->ce = c->cc->ecn;
}

bool sl_tcp_fill_sack(struct sl_tcp *c, struct sl_tcp_seg *seg, uint32_t room)
{
	uint32_t max;

	if (!c->have_dsack && !c->nlast_sack)
		return true;
	room = sl_min(room, 40u - (c->ts_ok ? TS_OPT_BYTES : 0));
	max = room >= 4 ? (room - 4) / 8 : 0;
	if (!max)
		return false;
	seg->nsack =
		sl_tcp_sack_blocks(c, seg->sack, (uint8_t)sl_min(max, (uint32_t)SL_TCP_MAX_SACK));
	if (seg->nsack)
		seg->opts |= SL_TCPO_SACK;
	return true;
}

/* SND.NXT, but never beyond the peer's window, since the peer would drop the ACK (it has taken the
 * window back; tcp_acceptable_seq() of Linux). */
static uint32_t acceptable_seq(const struct sl_tcp *c)
{
	uint32_t end = c->snd_una + c->snd_wnd;

	if (sl_seq_le(c->snd_nxt, end) || c->snd_nxt - end < 1u << c->snd_wscale)
		return c->snd_nxt;
	return end;
}

/* Sends a segment without data. False: the ring has no room. */
static bool send_bare(struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	bool again = seg->flags & SL_TCP_SYN && c->retries;

	if (!c->host->ops->send(c, seg, SL_NO_FRAME, 0, 0))
		return false;
	c->segs_out++;
	tcp_count(c->host, again ? SL_TCPC_RETRANS_SEGS : SL_TCPC_OUT_SEGS, 1);
	return true;
}

void sl_tcp_send_ack(struct sl_tcp *c)
{
	struct sl_tcp_seg seg = {.seq = acceptable_seq(c)};

	if (c->state == SL_TCP_CLOSED || c->state == SL_TCP_SYN_SENT)
		return;
	sl_tcp_fill_ack(c, &seg);
	sl_tcp_fill_sack(c, &seg, 40);
	if (send_bare(c, &seg)) {
		sl_tcp_ack_sent(c);
		return;
	}
	c->ack_now = SL_TCP_ACK_NOW;
	sl_tcp_no_room(c);
}

void sl_tcp_send_rst(struct sl_tcp *c)
{
	struct sl_tcp_seg seg = {.flags = SL_TCP_RST | SL_TCP_ACK, .seq = acceptable_seq(c)};

	seg.ack = c->rcv_nxt;
	if (c->ts_ok) { /* RFC 7323 3.2 */
		seg.opts |= SL_TCPO_TS;
		seg.tsval = sl_tcp_tsval(c);
		seg.tsecr = c->ts_recent;
	}
	if (send_bare(c, &seg))
		tcp_count(c->host, SL_TCPC_OUT_RSTS, 1);
}

/* Sends an old sequence number, which the peer must answer (RFC 9293 3.8.4). The probe may tell of
 * an urgent byte that the window holds up. */
void sl_tcp_send_probe(struct sl_tcp *c, bool data)
{
	struct sl_tcp_seg seg = {.seq = c->snd_una - 1};

	sl_tcp_fill_ack(c, &seg);
	if (data && c->urg_out && c->snd_up - c->snd_una <= UINT16_MAX) {
		seg.flags |= SL_TCP_URG;
		seg.seq = c->snd_una;
		seg.urg = (uint16_t)(c->snd_up - c->snd_una);
		send_bare(c, &seg);
		seg.flags &= ~SL_TCP_URG;
		seg.urg = 0;
		seg.seq = c->snd_una - 1;
	}
	send_bare(c, &seg);
}

/* The handshake -------------------------------------------------------------------------------- */

static void fill_syn(const struct sl_tcp *c, struct sl_tcp_seg *seg)
{
	bool answer = c->state == SL_TCP_SYN_RCVD;

	seg->opts = SL_TCPO_MSS;
	seg->mss = c->adv_mss;
	if (answer ? c->ts_ok : sl_tcp_params.timestamps) {
		seg->opts |= SL_TCPO_TS;
		seg->tsval = sl_tcp_tsval(c);
		seg->tsecr = answer ? c->ts_recent : 0;
	}
	if (answer ? c->wscale_ok : sl_tcp_params.window_scaling) {
		seg->opts |= SL_TCPO_WSCALE;
		seg->wscale = c->rcv_wscale;
	}
	if (answer ? c->sack_ok : sl_tcp_params.sack)
		seg->opts |= SL_TCPO_SACK_OK;
	sl_tcp_tfo_option(c, seg);
}

/* The ECN flags of a SYN (RFC 3168 6.1.1). A SYN that is sent again has none (6.1.1.1), in case a
 * middlebox drops it; tcp_ecn_fallback 0 takes no such care. */
static uint8_t ecn_flags(const struct sl_tcp *c)
{
	if (c->state == SL_TCP_SYN_RCVD)
		return c->ecn_ok ? SL_TCP_ECE : 0;
	return sl_tcp_asks_ecn(c) && (!c->retries || !sl_tcp_params.ecn_fallback)
		       ? SL_TCP_ECE | SL_TCP_CWR
		       : 0;
}

static void send_syn(struct sl_tcp *c, const struct sl_tcp_seg *cookie)
{
	struct sl_tcp_seg seg = {.seq = c->iss, .flags = SL_TCP_SYN | ecn_flags(c)};
	bool sent;

	fill_syn(c, &seg);
	if (cookie) {
		seg.opts |= cookie->opts;
		seg.tfo_len = cookie->tfo_len;
		memcpy(seg.tfo, cookie->tfo, cookie->tfo_len);
	}
	seg.ce = c->cc->ecn;
	seg.wnd = (uint16_t)sl_min(c->rcv_wnd, (uint32_t)UINT16_MAX); /* never scaled */
	if (c->state == SL_TCP_SYN_RCVD) {
		seg.flags |= SL_TCP_ACK;
		seg.ack = c->rcv_nxt;
	}
	/* When there is no room, the time-out sends it. */
	if (!sl_tcp_tfo_send(c, &seg, &sent))
		sent = send_bare(c, &seg);
	if (sent && c->state == SL_TCP_SYN_RCVD) {
		c->rcv_wup = c->rcv_nxt;
		c->ack_pending = false;
		c->ack_now = 0;
	}
	if (c->retries)
		sl_tcp_trouble(c)->total_retrans++;
	sl_tcp_timer_on_syn(c);
}

void sl_tcp_send_syn(struct sl_tcp *c)
{
	send_syn(c, NULL);
}

void sl_tcp_send_syn_cookie(struct sl_tcp *c, const struct sl_tcp_seg *cookie)
{
	send_syn(c, cookie);
}
