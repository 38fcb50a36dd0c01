/* SPDX-License-Identifier: BSD-2-Clause */
/* TIME_WAIT, and FIN_WAIT2 of orphans: a small record answers the segments that still come (RFC
 * 9293 3.10.7.4, RFC 6191, RFC 1337). */

#include "base/heap.h"
#include "tcp/loss/tcp_metrics.h"
#include "tcp/tcp_arrival.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_late.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_tw.h"

#define TW_MAX 262144u

struct tw {
	struct sl_tcp_node node;
	struct sl_timer timer;
	bool fin_wait2; /* the peer's FIN has not come yet */
	bool ts_ok;
	uint8_t rcv_wscale;
	uint32_t snd_nxt, rcv_nxt, rcv_wnd;
	uint32_t ts_recent, ts_off;
	uint64_t answered_us; /* tcp_invalid_ratelimit */
};
_Static_assert(offsetof(struct tw, timer) == offsetof(struct sl_tcp, timer), "sl_tcp_node_of");
_Static_assert(offsetof(struct tw, timer) == sizeof(struct sl_tcp_node), "sl_tcp_node_of");

static struct tw *tw_of(struct sl_tcp_node *n)
{
	return sl_container_of(n, struct tw, node);
}

static void arm(struct sl_tcp_host *h, struct tw *w, uint32_t ms)
{
	sl_timer_arm(&h->wheel, &w->timer, h->now_us + ms * 1000ull);
}

void sl_tcp_tw_free(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	struct tw *w = tw_of(n);

	sl_timer_cancel(&h->wheel, &w->timer);
	if (n->hashed)
		sl_tcp_table_del(h, n);
	h->ntw--;
	sl_free(w);
}

void sl_tcp_tw_timer(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	sl_tcp_tw_free(h, n);
}

/* Puts a record into the table in c's place. */
static void tw_new(struct sl_tcp *c, bool fin_wait2, uint32_t timeout_ms)
{
	struct sl_tcp_host *h = c->host;
	/* Beyond tcp_max_tw_buckets a connection just ends. */
	bool room = h->ntw < sl_min(sl_tcp_params.max_tw, TW_MAX);
	struct tw *w = room ? sl_calloc(1, sizeof(*w)) : NULL;

	sl_tcp_note_wait(c, true);
	if (!w)
		return;
	w->node.key = c->node.key;
	w->node.kind = SL_TCP_TW;
	w->node.bound = c->node.bound;
	sl_timer_init(&w->timer);
	w->fin_wait2 = fin_wait2;
	w->ts_ok = c->ts_ok;
	w->rcv_wscale = c->rcv_wscale;
	w->snd_nxt = c->snd_nxt;
	w->rcv_nxt = c->rcv_nxt;
	w->rcv_wnd = c->rcv_wnd;
	w->ts_recent = c->ts_recent;
	w->ts_off = c->ts_off;
	if (c->node.hashed)
		sl_tcp_table_del(h, &c->node);
	if (sl_tcp_table_add(h, &w->node) < 0) {
		sl_free(w);
		return;
	}
	h->ntw++;
	tcp_count(h, SL_TCPC_TW, 1);
	arm(h, w, timeout_ms);
}

void sl_tcp_time_wait(struct sl_tcp *c, bool fin_wait2, uint32_t timeout_ms)
{
	sl_tcp_metrics_keep(c);
	tw_new(c, fin_wait2, timeout_ms);
	sl_tcp_done(c, 0);
}

/* Sends an ACK of everything received. A segment without data or FIN seldom gets one, so that two
 * ends do not answer each other for ever. */
static void answer(struct sl_tcp_host *h, struct tw *w, const struct sl_tcp_seg *seg, void *from)
{
	struct sl_tcp_seg r = {
		.flags = SL_TCP_ACK,
		.seq = w->snd_nxt,
		.ack = w->rcv_nxt,
		.wnd = (uint16_t)sl_min(w->rcv_wnd >> w->rcv_wscale, (uint32_t)UINT16_MAX),
	};

	if (!sl_seg_seqlen(seg) && w->answered_us &&
	    h->now_us - w->answered_us < sl_tcp_params.invalid_ratelimit_ms * 1000ull)
		return;
	w->answered_us = h->now_us;
	if (w->ts_ok) {
		r.opts = SL_TCPO_TS;
		r.tsval = sl_tcp_now_ms(h) + w->ts_off;
		r.tsecr = w->ts_recent;
	}
	sl_tcp_reply(h, NULL, &w->node.key, &r, from);
}

static bool is_paws_violated(const struct tw *w, const struct sl_tcp_seg *seg)
{
	return w->ts_ok && seg->opts & SL_TCPO_TS && !(seg->flags & SL_TCP_RST) &&
	       sl_seq_lt(seg->tsval, w->ts_recent);
}

static void take_timestamp(struct tw *w, const struct sl_tcp_seg *seg)
{
	if (w->ts_ok && seg->opts & SL_TCPO_TS)
		w->ts_recent = seg->tsval;
}

static bool is_in_window(const struct tw *w, const struct sl_tcp_seg *seg)
{
	uint32_t end = seg->seq + sl_seg_seqlen(seg);

	if (seg->seq == w->rcv_nxt)
		return true;
	return sl_seq_gt(end, w->rcv_nxt) && sl_seq_lt(seg->seq, w->rcv_nxt + w->rcv_wnd);
}

/* FIN-WAIT-2 STATE of an orphan: takes the FIN, and resets the peer for data, which no program can
 * read. */
static void fin_wait2_input(struct sl_tcp_host *h, struct tw *w, const struct sl_tcp_seg *seg,
			    void *from)
{
	uint32_t end = seg->seq + sl_seg_seqlen(seg);

	if (is_paws_violated(w, seg) || !is_in_window(w, seg)) {
		if (!(seg->flags & SL_TCP_RST))
			answer(h, w, seg, from);
	} else if (seg->flags & SL_TCP_RST) {
		if (seg->seq == w->rcv_nxt) /* RFC 5961 3.2 */
			sl_tcp_tw_free(h, &w->node);
		else
			answer(h, w, seg, from);
	} else if (seg->flags & SL_TCP_SYN) {
		answer(h, w, seg, from); /* RFC 5961 4.2 */
	} else if (!(seg->flags & SL_TCP_ACK) || end == seg->seq) {
		return;
	} else if (seg->flags & SL_TCP_FIN && end == w->rcv_nxt + 1) {
		w->rcv_nxt = end;
		w->fin_wait2 = false;
		take_timestamp(w, seg);
		arm(h, w, SL_TCP_TIMEWAIT_MS);
		w->answered_us = 0;
		answer(h, w, seg, from);
	} else {
		tcp_count(h, SL_TCPC_ABORT_ON_DATA, 1);
		sl_tcp_reset_reply(h, &w->node.key, seg, from);
		sl_tcp_tw_free(h, &w->node);
	}
}

/* True: the SYN is surely of a new connection (RFC 6191 2, RFC 1122 4.2.2.13). */
static bool is_new_syn(const struct tw *w, const struct sl_tcp_seg *seg)
{
	if ((seg->flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) != SL_TCP_SYN ||
	    is_paws_violated(w, seg))
		return false;
	return sl_seq_gt(seg->seq, w->rcv_nxt) ||
	       (w->ts_ok && seg->opts & SL_TCPO_TS && sl_seq_gt(seg->tsval, w->ts_recent));
}

/* An initial number that no window of the old connection reaches. */
static uint32_t next_isn(const struct tw *w)
{
	return w->snd_nxt + 65535 + 2;
}

bool sl_tcp_tw_input(struct sl_tcp_host *h, struct sl_tcp_node *n, const struct sl_tcp_seg *seg,
		     void *from, uint32_t *isn)
{
	struct tw *w = tw_of(n);

	if (w->fin_wait2) {
		fin_wait2_input(h, w, seg, from);
		return false;
	}
	if (is_new_syn(w, seg)) {
		*isn = next_isn(w);
		tcp_count(h, SL_TCPC_TW_REUSED, 1);
		sl_tcp_tw_free(h, n);
		return true;
	}
	/* RFC 1337 calls it assassination; but the reset is all that a peer has against a record of
	 * a connection of its last life, while it begins a new one from the same port. */
	if (seg->flags & SL_TCP_RST) {
		if (seg->seq == w->rcv_nxt && !sl_tcp_params.rfc1337)
			sl_tcp_tw_free(h, n);
		return false;
	}
	if (!is_paws_violated(w, seg) && seg->seq == w->rcv_nxt && !sl_seg_seqlen(seg)) {
		take_timestamp(w, seg); /* an old ACK, nothing to say */
		return false;
	}
	/* "The only thing that can arrive in this state is a retransmission of the remote FIN." */
	if (seg->flags & SL_TCP_ACK)
		arm(h, w, SL_TCP_TIMEWAIT_MS);
	answer(h, w, seg, from);
	return false;
}

/* True: a new connection may take the record's place, because PAWS tells its segments from old ones
 * by our time stamps (RFC 6191 3). For a port that it has chosen itself Linux also asks for a
 * second in between, and for tcp_tw_reuse: tcp_twsk_unique(). */
bool sl_tcp_tw_may_reuse(const struct sl_tcp_node *n)
{
	return sl_container_of_const(n, struct tw, node)->ts_ok;
}

bool sl_tcp_tw_reuse(struct sl_tcp_host *h, struct sl_tcp_node *n, uint32_t *isn)
{
	struct tw *w = tw_of(n);

	if (!sl_tcp_tw_may_reuse(n))
		return false;
	*isn = next_isn(w);
	tcp_count(h, SL_TCPC_TW_REUSED, 1);
	sl_tcp_tw_free(h, n);
	return true;
}

/* Which end of connections to a server has TIME_WAIT: the one that closes first, mostly always the
 * same one. A bit for each hash of the server's address and port, set: we. */
static uint32_t wait_bit(const struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	struct sl_tcp_key server = {.remote = key->remote, .rport = key->rport};

	return sl_tcp_key_hash(h, &server) % SL_TCP_WAITS;
}

void sl_tcp_note_wait(struct sl_tcp *c, bool ours)
{
	struct sl_tcp_host *h = c->host;
	uint32_t bit;

	if (c->child)
		return;
	bit = wait_bit(h, &c->node.key);
	h->waits[bit / 64] &= ~(1ull << bit % 64);
	h->waits[bit / 64] |= (uint64_t)ours << bit % 64;
}

bool sl_tcp_peer_waits(const struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	uint32_t bit = wait_bit(h, key);

	return !(h->waits[bit / 64] >> bit % 64 & 1);
}
