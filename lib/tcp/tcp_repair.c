/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's state going out and coming in, as TCP_REPAIR speaks of it: what the kernel's own
 * TCP, or another host of ours, needs to go on with it.
 *
 * Sequence numbers in struct sl_tcp_repair count bytes only: a FIN, sent or received, is a flag
 * beside them. Bytes beyond a hole are left behind (RFC 2018 8 lets a receiver forget them), and so
 * is an urgent byte that the program has not taken, unless it reads it in the stream. */

#include <errno.h>
#include <string.h>

#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_rtt.h"
#include "tcp/tcp.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_repair.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_user.h"

#define LIVELY_US 60000000u
#define MAX_OPTS  40 /* for which the kernel leaves room in a SYN */

/* Going out ------------------------------------------------------------------------------------ */

/* Sequence number of the first byte in the send queue. */
static uint32_t sndq_start(const struct sl_tcp *c)
{
	return c->snd_una - c->fin_acked;
}

static uint32_t rcvq_start(const struct sl_tcp *c)
{
	return c->rcv_nxt - c->fin_rcvd - c->rx_bytes;
}

/* Where in the receive queue an urgent byte stands that no read will return; UINT32_MAX: nowhere.
 */
static uint32_t urgent_at(const struct sl_tcp *c)
{
	uint32_t at = c->rcv_up - rcvq_start(c);

	return c->urg_in && !c->oobinline && at < c->rx_bytes ? at : UINT32_MAX;
}

void sl_tcp_repair_state(const struct sl_tcp *c, struct sl_tcp_repair *r)
{
	uint32_t end = c->write_seq - c->fin_queued;

	*r = (struct sl_tcp_repair){
		.key = c->node.key,
		.state = c->state,
		.snd_nxt = end,
		.snd_una = sndq_start(c),
		.sndq = end - sndq_start(c),
		.unsent = sl_seq_lt(c->snd_nxt, end) ? end - c->snd_nxt : 0,
		.rcv_nxt = c->rcv_nxt - c->fin_rcvd,
		.rcvq = c->rx_bytes - (urgent_at(c) != UINT32_MAX),
		.snd_wl1 = c->snd_wl1,
		.snd_wnd = c->snd_wnd,
		.max_window = sl_max(c->max_window, c->snd_wnd),
		.rcv_wnd = c->rcv_wnd,
		.rcv_wup = c->rcv_wup,
		.sndbuf = c->sndbuf,
		.rcvbuf = c->rcvbuf,
		.mss_clamp = c->mss_clamp,
		.snd_wscale = c->snd_wscale,
		.rcv_wscale = c->rcv_wscale,
		.wscale_ok = c->wscale_ok,
		.sack_ok = c->sack_ok,
		.ts_ok = c->ts_ok,
		.ecn_ok = c->ecn_ok,
		.fin_sent = c->fin_sent,
		.fin_rcvd = c->fin_rcvd,
		.fin_queued = c->fin_queued,
		.rx_shut = c->rx_shut,
		.ts_recent = c->ts_recent,
	};
	/* The window's left edge may stand behind the FIN: its right edge is what counts. */
	if (sl_seq_gt(r->rcv_wup, r->rcv_nxt)) {
		r->rcv_wnd += r->rcv_wup - r->rcv_nxt;
		r->rcv_wup = r->rcv_nxt;
	}
	if (sl_seq_gt(r->snd_wl1, r->rcv_nxt))
		r->snd_wl1 = r->rcv_nxt;
}

bool sl_tcp_repair_get(const struct sl_tcp *c, struct sl_tcp_repair *r)
{
	if (!sl_tcp_is_synchronised(c->state))
		return false;
	sl_tcp_repair_state(c, r);
	r->tsval = sl_tcp_tsval(c);
	r->lively = c->host->now_us - c->last_ack_us < LIVELY_US;
	return true;
}

void sl_tcp_repair_get_closed(const struct sl_tcp *c, struct sl_tcp_repair *r)
{
	uint32_t end = c->write_seq - c->fin_queued, rcv_nxt = c->rcv_nxt - c->fin_rcvd;

	*r = (struct sl_tcp_repair){
		.key = c->node.key,
		.state = SL_TCP_CLOSED,
		.snd_nxt = end,
		.snd_una = end,
		.rcv_nxt = rcv_nxt,
		.rcvq = c->rx_bytes - (urgent_at(c) != UINT32_MAX),
		.snd_wl1 = rcv_nxt,
		.snd_wnd = 65535,
		.max_window = 65535,
		.rcv_wnd = 65535,
		.rcv_wup = rcv_nxt,
		.sndbuf = c->sndbuf,
		.rcvbuf = c->rcvbuf,
		.mss_clamp = sl_max(c->mss_clamp, (uint16_t)SL_TCP_MSS_V4),
		.fin_rcvd = c->fin_rcvd,
	};
}

uint32_t sl_tcp_repair_sndq(const struct sl_tcp *c, uint32_t at, void *buf, uint32_t n)
{
	uint32_t seq = sndq_start(c) + at, done = 0;

	for (uint32_t i = c->tx_una; i != c->tx_tail && done < n; i++) {
		const struct sl_txseg *p = sl_tcp_piece(c, i);
		uint32_t skip = seq - p->seq, len;

		/* Behind `seq` (a FIN alone too), or, as a broken queue, before a hole. */
		if (sl_seq_lt(seq, p->seq) || skip >= p->len)
			continue;
		len = sl_min(p->len - skip, n - done);
		memcpy((uint8_t *)buf + done, sl_frame_ptr(p->frame) + p->off + skip, len);
		done += len;
		seq += len;
	}
	return done;
}

/* Copies bytes of the receive queue, urgent ones like any other. */
static uint32_t copy_rcvq(const struct sl_tcp *c, uint32_t at, uint8_t *buf, uint32_t n)
{
	uint32_t begin = 0, done = 0;

	for (uint32_t i = c->rx_head; i != c->rx_tail && done < n; i++) {
		const struct sl_rxseg *p = &c->rx[i & (c->rxsize - 1)];
		uint32_t skip = at - begin, len;

		begin += p->len;
		if (at >= begin)
			continue;
		len = sl_min(p->len - skip, n - done);
		memcpy(buf + done, sl_frame_ptr(p->frame) + p->off + skip, len);
		done += len;
		at += len;
	}
	return done;
}

uint32_t sl_tcp_repair_rcvq(const struct sl_tcp *c, uint32_t at, void *buf, uint32_t n)
{
	uint32_t urgent = urgent_at(c), before = 0;

	if (at < urgent) {
		before = copy_rcvq(c, at, buf, sl_min(n, urgent - at));
		at += before;
		if (at < urgent || before == n)
			return before;
	}
	return before +
	       copy_rcvq(c, at + (urgent != UINT32_MAX), (uint8_t *)buf + before, n - before);
}

void sl_tcp_repair_get_syn(const struct sl_tcp *c, struct sl_tcp_repair_syn *syn, void *data)
{
	*syn = (struct sl_tcp_repair_syn){
		.iss = c->iss,
		.tsval = (uint32_t)(c->born_us / 1000) + c->ts_off,
		.ts_ok = sl_tcp_params.timestamps,
		.user_mss = sl_tcp_opt(c, user_mss),
	};
	if (c->state == SL_TCP_SYN_SENT)
		syn->bytes = sl_tcp_repair_sndq(c, 1, data, SL_TCP_SYN_MAX);
	syn->mss = (uint16_t)sl_max(syn->bytes + MAX_OPTS, (uint32_t)c->adv_mss);
}

bool sl_tcp_repair_freeze(struct sl_tcp *c)
{
	if (!sl_tcp_is_synchronised(c->state))
		return false;
	sl_tcp_timer_stop(c);
	sl_list_del(&c->out_node);
	if (c->expects)
		sl_tcp_expect(c, false);
	c->thin = false;
	c->frozen = true;
	return true;
}

/* Brings the connection to life: arms its timers, and sends an ACK to tell the peer the window
 * (like the kernel's probe at the end of a repair). */
static void revive(struct sl_tcp *c)
{
	sl_tcp_timer_on_alive(c);
	if (c->tx_una != c->tx_nxt)
		sl_tcp_timer_on_sent(c);
	else if (c->tx_nxt != c->tx_tail)
		sl_tcp_timer_on_window(c);
	c->ack_now = SL_TCP_ACK_NOW;
	sl_tcp_want_out(c);
	sl_tcp_timer_rearm(c);
}

void sl_tcp_repair_thaw(struct sl_tcp *c)
{
	c->frozen = false;
	revive(c);
}

void sl_tcp_repair_gone(struct sl_tcp *c)
{
	sl_tcp_snd_free(c);
	sl_tcp_rcv_free(c);
}

/* Coming in ------------------------------------------------------------------------------------ */

static void set_sequences(struct sl_tcp *c, const struct sl_tcp_repair *r)
{
	c->iss = r->snd_una - 1;
	c->snd_una = c->snd_nxt = c->write_seq = r->snd_una;
	c->snd_wl1 = r->snd_wl1;
	c->snd_wnd = r->snd_wnd;
	c->max_window = sl_max(r->max_window, r->snd_wnd);
	c->rcv_nxt = c->copied_seq = c->rcv_wup = r->rcv_nxt - r->rcvq;
	c->rcv_wnd = r->rcvq + r->rcv_wnd;
	c->irs = c->rcv_nxt - 1;
}

static void set_options(struct sl_tcp *c, const struct sl_tcp_repair *r)
{
	struct sl_tcp_route route;

	c->ts_ok = r->ts_ok;
	c->sack_ok = r->sack_ok;
	c->wscale_ok = r->wscale_ok;
	c->ecn_ok = r->ecn_ok;
	c->snd_wscale = r->wscale_ok ? sl_min(r->snd_wscale, 14) : 0;
	c->rcv_wscale = r->wscale_ok ? sl_min(r->rcv_wscale, 14) : 0;
	c->mss_clamp = r->mss_clamp;
	route = c->host->ops->route(c->host, c, NULL, &r->key, 0);
	c->adv_mss = route.adv_mss;
	sl_tcp_take_metrics(c, route.tcp, false);
	if (!r->ts_ok)
		return;
	c->ts_off = r->tsval - sl_tcp_now_ms(c->host);
	c->ts_recent = r->ts_recent;
	/* The kernel does not tell its own: the next one is taken, whatever it is. */
	c->ts_recent_at = sl_tcp_paws_now(c->host) - (r->ts_recent ? 0 : SL_TCP_PAWS_IDLE + 1);
}

int sl_tcp_repair_reserve(struct sl_tcp *c, const struct sl_tcp_key *key)
{
	int err;

	c->node.key = *key;
	c->node.kind = SL_TCP_CONN;
	err = sl_tcp_table_add(c->host, &c->node);
	c->frozen = !err;
	return err;
}

int sl_tcp_repair_set(struct sl_tcp *c, const struct sl_tcp_repair *r)
{
	bool frozen = c->frozen;
	int err;

	if (r->unsent > r->sndq || (r->fin_sent && (r->unsent || !r->fin_queued)) || !r->mss_clamp)
		return -EINVAL;
	err = c->node.hashed ? 0 : sl_tcp_repair_reserve(c, &r->key);
	if (err)
		return err;
	c->frozen = frozen;
	c->rx_shut = c->tx_shut = false;
	set_sequences(c, r);
	set_options(c, r);
	sl_tcp_start_buffers(c);
	sl_tcp_mtup_open(c);
	sl_tcp_mss_changed(c);
	sl_tcp_rtt_init(c);
	sl_tcp_loss_init(c);
	/* The queues' contents must fit, whatever buffer size was set. */
	c->rcvbuf = sl_max(c->rcvbuf, r->rcvbuf);
	c->rcvbuf = sl_max(c->rcvbuf, 2 * r->rcvq);
	/* A window that was closed must be able to open. */
	c->rcv_ssthresh = sl_max(c->rcv_ssthresh, 4u * c->adv_mss);
	c->sndbuf = sl_max(c->sndbuf, r->sndbuf);
	c->sndbuf = sl_max(c->sndbuf, 3 * r->sndq);
	sl_cc_opened(c);
	sl_tcp_set_state(c, SL_TCP_ESTABLISHED);
	return 0;
}

int sl_tcp_repair_add_rcvq(struct sl_tcp *c, const void *buf, uint32_t n)
{
	for (uint32_t done = 0; done < n;) {
		uint32_t len = sl_min(n - done, 1u << sl_pool.shift), seq = c->rcv_nxt;
		uint32_t frame = sl_frame_get(c->host->frames);

		if (frame == SL_NO_FRAME)
			return -ENOMEM;
		memcpy(sl_frame_ptr(frame), (const uint8_t *)buf + done, len);
		if (!sl_tcp_rcv_queue(c, seq, frame, 0, (uint16_t)len, false))
			sl_frame_put(c->host->frames, frame);
		if (c->rcv_nxt != seq + len)
			return -ENOMEM;
		done += len;
	}
	return 0;
}

/* Adds bytes as if the program wrote them. TCP_NOTSENT_LOWAT and the freeze, which would refuse a
 * program's write now, do not count. */
int sl_tcp_repair_add_sndq(struct sl_tcp *c, const void *buf, uint32_t n)
{
	uint32_t lowat = c->notsent_lowat;
	bool frozen = c->frozen;
	long taken = 0;

	c->notsent_lowat = UINT32_MAX;
	c->frozen = false;
	while (n) {
		struct iovec iov = {(void *)(uintptr_t)buf, n};

		taken = sl_tcp_write(c, &iov, 1, 0, false, false);
		if (taken <= 0)
			break;
		buf = (const uint8_t *)buf + taken;
		n -= (uint32_t)taken;
	}
	c->notsent_lowat = lowat;
	c->frozen = frozen;
	if (frozen)
		sl_list_del(&c->out_node);
	return !n ? 0 : taken ? (int)taken : -ENOMEM;
}

/* Marks the queue up to `end` as sent at an unknown time: as sent twice, so that Karn's rule keeps
 * it out of the round-trip estimate. A piece that reaches past `end` is split there. */
static int mark_sent(struct sl_tcp *c, uint32_t end)
{
	for (; c->tx_nxt != c->tx_tail; c->tx_nxt++) {
		struct sl_txseg *p = sl_tcp_piece(c, c->tx_nxt);
		uint32_t left = end - p->seq;

		if (sl_seq_ge(p->seq, end))
			break;
		if (left < (uint32_t)p->len + !!(p->flags & SL_TCP_FIN) &&
		    !sl_tcp_snd_split(c, c->tx_nxt, (uint16_t)left))
			return -ENOMEM;
		p = sl_tcp_piece(c, c->tx_nxt);
		p->sent = 2;
		p->sent_us = c->host->now_us;
		p->delivered = c->delivered;
		p->tsval = sl_tcp_tsval(c);
	}
	c->snd_nxt = c->high_seq = end;
	return 0;
}

static int set_fins(struct sl_tcp *c, const struct sl_tcp_repair *r)
{
	int err = 0;

	if (r->state == SL_TCP_FIN_WAIT2) {
		c->fin_queued = c->fin_sent = c->fin_acked = true;
		c->snd_una = c->snd_nxt = c->write_seq = r->snd_una + 1;
	} else {
		if (r->fin_queued)
			sl_tcp_queue_fin(c);
		err = mark_sent(c, r->snd_una + r->sndq - r->unsent + r->fin_sent);
		c->fin_sent = r->fin_sent;
	}
	c->rcv_wup = r->rcv_wup;
	c->rcv_wnd = r->rcv_wnd;
	c->rx_shut = r->rx_shut;
	c->tx_shut = r->fin_queued;
	if (r->fin_rcvd)
		sl_tcp_rcv_queue(c, c->rcv_nxt, SL_NO_FRAME, 0, 0, true);
	return err;
}

int sl_tcp_repair_start(struct sl_tcp *c, const struct sl_tcp_repair *r)
{
	int err;

	if (c->write_seq != r->snd_una + r->sndq || c->rcv_nxt != r->rcv_nxt)
		return -EINVAL;
	err = set_fins(c, r);
	if (err)
		return err;
	sl_tcp_set_state(c, r->state);
	if (!c->frozen)
		revive(c);
	return 0;
}
