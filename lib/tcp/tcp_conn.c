/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's life: made, opened, shut down, closed, aborted (RFC 9293 3.10.1, 3.10.4, 3.10.5).
 */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "net/route.h"
#include "tcp/listen/tcp_child.h"
#include "tcp/listen/tcp_fastopen.h"
#include "tcp/listen/tcp_pending.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_metrics.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/loss/tcp_rtt.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_chrono.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_tw.h"
#include "tcp/tcp_user.h"
#include "tcp/tcp_window.h"

void sl_tcp_init(struct sl_tcp *c, struct sl_tcp_host *h)
{
	c->host = h;
	c->node.kind = SL_TCP_CONN;
	c->state = SL_TCP_CLOSED;
	sl_list_init(&c->accept_node);
	sl_list_init(&c->out_node);
	sl_timer_init(&c->timer);
	c->rcvbuf = sl_tcp_params.rmem_default;
	c->sndbuf = sl_tcp_params.wmem_default;
	c->cc = sl_cc_find(sl_tcp_params.congestion);
	if (!c->cc)
		c->cc = &sl_cc_cubic;
	c->born_us = h->now_us;
}

/* Takes the connection off all lists of the host. */
static void unhook(struct sl_tcp *c)
{
	sl_tcp_orphan_count(c, false);
	sl_tcp_timer_stop(c);
	sl_timer_cancel(&c->host->wheel, &c->timer);
	sl_list_del(&c->out_node);
	if (c->expects)
		sl_tcp_expect(c, false);
	if (c->node.hashed)
		sl_tcp_table_del(c->host, &c->node);
	sl_tcp_snd_free(c);
	sl_tcp_tfo_free(c);
}

void sl_tcp_fini(struct sl_tcp *c)
{
	if (!c->host)
		return;
	sl_tcp_child_gone(c);
	unhook(c);
	sl_tcp_rcv_free(c);
	sl_free(c->trouble);
	sl_tcp_rate_free(c);
	sl_tcp_mtup_free(c);
	sl_free(c->opts);
	c->trouble = NULL;
	c->opts = NULL;
	c->state = SL_TCP_CLOSED;
}

struct sl_tcp_trouble *sl_tcp_trouble_new(struct sl_tcp *c)
{
	struct sl_tcp_trouble *t = sl_calloc(1, sizeof(*t));

	if (t) {
		c->trouble = t;
	} else {
		t = c->host->spare_trouble;
		memset(t, 0, sizeof(*t));
	}
	t->undo_marker = c->iss;
	return t;
}

/* Time by causes that hold a connection up (tcp_chrono.h) -------------------------------------- */

/* In units of 1,024 us; Linux counts in jiffies. */

static uint32_t now_units(const struct sl_tcp *c)
{
	return (uint32_t)(c->host->now_us >> SL_TCP_UNIT_BITS);
}

void sl_tcp_chrono_set(struct sl_tcp *c, enum sl_tcp_chrono to)
{
	uint32_t now = now_units(c), units = now - c->chrono_at;

	if (c->chrono != SL_CHRONO_IDLE)
		c->busy += units;
	if (sl_unlikely(c->chrono == SL_CHRONO_RWND))
		sl_tcp_trouble(c)->rwnd_limited += units;
	else if (sl_unlikely(c->chrono == SL_CHRONO_SNDBUF))
		sl_tcp_trouble(c)->sndbuf_limited += units;
	c->chrono_at = now;
	c->chrono = to & 3;
}

struct sl_tcp_chrono_times sl_tcp_chrono_times(const struct sl_tcp *c)
{
	uint64_t open = c->chrono != SL_CHRONO_IDLE ? now_units(c) - c->chrono_at : 0;
	uint64_t rwnd = c->trouble ? c->trouble->rwnd_limited : 0;
	uint64_t sndbuf = c->trouble ? c->trouble->sndbuf_limited : 0;

	rwnd += c->chrono == SL_CHRONO_RWND ? open : 0;
	sndbuf += c->chrono == SL_CHRONO_SNDBUF ? open : 0;
	return (struct sl_tcp_chrono_times){
		.busy_us = (c->busy + open) << SL_TCP_UNIT_BITS,
		.rwnd_us = rwnd << SL_TCP_UNIT_BITS,
		.sndbuf_us = sndbuf << SL_TCP_UNIT_BITS,
	};
}

void sl_tcp_event(struct sl_tcp *c, uint32_t events)
{
	if (events)
		c->host->ops->event(c, events);
}

void sl_tcp_set_state(struct sl_tcp *c, enum sl_tcp_state s)
{
	c->state = s;
}

void sl_tcp_done(struct sl_tcp *c, int err)
{
	uint32_t events = SL_TCP_EV_CLOSED;

	sl_tcp_pending_done(c);
	if (c->state == SL_TCP_SYN_SENT || c->state == SL_TCP_SYN_RCVD)
		tcp_count(c->host, SL_TCPC_ATTEMPT_FAILS, 1);
	else if (c->state == SL_TCP_ESTABLISHED || c->state == SL_TCP_CLOSE_WAIT)
		tcp_count(c->host, SL_TCPC_ESTAB_RESETS, 1); /* by either side (RFC 4022) */
	sl_tcp_set_state(c, SL_TCP_CLOSED);
	unhook(c);
	if (c->orphan)
		sl_tcp_rcv_free(c);
	c->rx_shut = c->tx_shut = true;
	c->want_out = false;
	if (err) {
		c->error = err;
		events |= SL_TCP_EV_ERROR;
	}
	if (c->reported)
		return;
	c->reported = true;
	sl_tcp_event(c, events); /* an orphan is gone now */
}

/* Opening -------------------------------------------------------------------------------------- */

/* RFC 7323 2.3: the shift is agreed once, so it is for the largest buffer there may ever be. */
uint8_t sl_tcp_rcv_wscale(uint32_t rcvbuf, bool locked, uint32_t clamp)
{
	uint32_t space = locked ? rcvbuf / 2 : sl_max(rcvbuf, sl_tcp_params.rmem_max);
	uint8_t scale = 0;

	if (!sl_tcp_params.window_scaling)
		return 0;
	if (sl_tcp_params.wscale_fixed >= 0)
		return (uint8_t)sl_tcp_params.wscale_fixed;
	if (clamp)
		space = sl_min(space, clamp);
	while (scale < 14 && space >> scale > UINT16_MAX)
		scale++;
	return scale;
}

/* The window of the first segments: half of the buffer, as in Linux (the rest is for memory
 * overhead), in whole segments, and at most what the unscaled field can hold. */
uint32_t sl_tcp_first_window(uint32_t rcvbuf, uint32_t clamp, uint16_t mss)
{
	uint32_t w = clamp ? sl_min(rcvbuf / 2, clamp) : rcvbuf / 2;

	if (mss && w > mss)
		w -= w % mss;
	return sl_min(w, (uint32_t)UINT16_MAX);
}

uint32_t sl_tcp_route_window(const struct sl_route_tcp *r, uint32_t window, uint16_t mss)
{
	return r && r->init_rwnd ? sl_min(window, (uint32_t)r->init_rwnd * mss) : window;
}

uint16_t sl_tcp_our_mss(uint16_t route_mss, uint16_t user_mss)
{
	return user_mss && user_mss < route_mss ? user_mss : route_mss;
}

/* Takes the metrics of the route. Linux reads some of it at each use, so a change of the route
 * counts at once; the rest is for connections that begin. */
void sl_tcp_take_metrics(struct sl_tcp *c, const struct sl_route_tcp *r, bool begins)
{
	static const struct sl_route_tcp none;
	struct sl_tcp_opts *o;

	if (sl_likely(!r) && (begins || !c->opts))
		return;
	r = r ? r : &none;
	o = sl_tcp_opts(c);
	o->route_rto_min_ms = r->rto_min_ms;
	o->route_quickack = r->quickack;
	if (!begins)
		return;
	o->route_ecn = r->ecn;
	o->init_cwnd = r->init_cwnd;
	if (!c->window_clamp)
		c->window_clamp = r->window;
	if (r->congestion[0])
		sl_tcp_set_congestion(c, r->congestion);
}

bool sl_tcp_asks_ecn(const struct sl_tcp *c)
{
	return sl_tcp_params.ecn_out || c->cc->ecn || sl_tcp_opt(c, route_ecn);
}

/* Sets the variables of a connection that knows nothing of its peer yet. */
void sl_tcp_start(struct sl_tcp *c, const struct sl_tcp_key *key, uint32_t iss)
{
	struct sl_tcp_route route = c->host->ops->route(c->host, c, NULL, key, 0);

	c->node.key = *key;
	c->iss = c->snd_una = iss;
	c->snd_nxt = c->write_seq = c->snd_up = iss + 1;
	if (!c->ts_off)
		c->ts_off = sl_tcp_ts_offset(c->host, key);
	c->route_mss = route.mss;
	sl_tcp_metrics_path(c->host, key, &route);
	c->pmtu_mss = route.mss;
	c->adv_mss = sl_tcp_our_mss(route.adv_mss, sl_tcp_opt(c, user_mss));
	sl_tcp_take_metrics(c, route.tcp, true);
	c->rcv_wscale = sl_tcp_rcv_wscale(c->rcvbuf, c->rcvbuf_locked, c->window_clamp);
	c->rcv_wnd = sl_tcp_first_window(c->rcvbuf, c->window_clamp, c->adv_mss);
	if (sl_unlikely(route.tcp))
		c->rcv_wnd = sl_tcp_route_window(route.tcp, c->rcv_wnd, c->adv_mss);
	c->mss_clamp = sl_addr_is_v4(&key->remote) ? SL_TCP_MSS_V4 : SL_TCP_MSS_V6;
	c->born_us = c->host->now_us;
	c->retries = c->probes = c->backoff = 0;
	sl_tcp_mss_changed(c);
	c->rcv_mss = sl_min(c->mss, (uint16_t)SL_TCP_MSS_V4);
	sl_tcp_rtt_init(c);
	sl_tcp_loss_init(c);
}

/* RFC 9293 3.10.1 OPEN call, active. */
int sl_tcp_connect(struct sl_tcp *c, const struct sl_tcp_key *key)
{
	struct sl_tcp_host *h = c->host;
	struct sl_tcp_node *n = sl_tcp_table_find(h, key);
	uint32_t iss = sl_tcp_isn(h, key), least;

	if (c->state != SL_TCP_CLOSED)
		return -EISCONN;
	if (n) {
		if (n->kind != SL_TCP_TW || !sl_tcp_tw_reuse(h, n, &least))
			return -EADDRINUSE;
		if (sl_seq_lt(iss, least))
			iss = least;
	}
	c->node.key = *key;
	if (sl_tcp_table_add(h, &c->node) < 0)
		return -ENOMEM;
	sl_tcp_start(c, key, iss);
	sl_tcp_set_state(c, SL_TCP_SYN_SENT);
	c->rx_shut = c->tx_shut = c->reported = false;
	c->error = c->soft_error = 0;
	tcp_count(h, SL_TCPC_ACTIVE_OPENS, 1);
	if (c->tfo_defer)
		sl_tcp_tfo_defer(c);
	else
		sl_tcp_send_syn(c);
	return 0;
}

void sl_tcp_take_syn_options(struct sl_tcp *c, const struct sl_tcp_seg *syn)
{
	uint16_t user_mss = sl_tcp_opt(c, user_mss);

	if (syn->opts & SL_TCPO_MSS && syn->mss)
		c->mss_clamp = syn->mss;
	if (user_mss && user_mss < c->mss_clamp)
		c->mss_clamp = user_mss;
	c->mss_clamp = sl_max(c->mss_clamp, (uint16_t)sl_tcp_params.min_snd_mss);
	c->sack_ok = sl_tcp_params.sack && syn->opts & SL_TCPO_SACK_OK;
	c->wscale_ok = sl_tcp_params.window_scaling && syn->opts & SL_TCPO_WSCALE;
	c->snd_wscale = c->wscale_ok ? sl_min(syn->wscale, (uint8_t)14) : 0; /* RFC 7323 2.3 */
	if (!c->wscale_ok)
		c->rcv_wscale = 0;
	c->ts_ok = sl_tcp_params.timestamps && syn->opts & SL_TCPO_TS;
	if (c->ts_ok) {
		c->ts_recent = syn->tsval;
		c->ts_recent_at = sl_tcp_paws_now(c->host);
	}
	sl_tcp_mtup_open(c);
	sl_tcp_mss_changed(c);
	c->rcv_mss = sl_min(c->mss, (uint16_t)SL_TCP_MSS_V4);
}

void sl_tcp_start_buffers(struct sl_tcp *c)
{
	c->rcvq_space = sl_min(c->rcv_wnd, 10 * sl_tcp_adv_bytes(c));
	c->rcvq_seq = c->copied_seq;
	c->rcvq_time_us = (uint32_t)c->host->now_us;
	c->rcv_ssthresh = c->rcv_wnd;
	c->quick = (uint8_t)sl_min(sl_tcp_params.quickack_segs, (uint32_t)UINT8_MAX);
	c->last_rcv_us = c->host->now_us;
	sl_tcp_sndbuf_grow(c);
}

/* Ending --------------------------------------------------------------------------------------- */

/* Queues our FIN behind the data (RFC 9293 3.10.4). */
void sl_tcp_send_fin(struct sl_tcp *c)
{
	if (c->fin_queued)
		return;
	sl_tcp_set_state(c, c->state == SL_TCP_CLOSE_WAIT ? SL_TCP_LAST_ACK : SL_TCP_FIN_WAIT1);
	sl_tcp_queue_fin(c);
	sl_tcp_want_out(c);
}

int sl_tcp_shutdown(struct sl_tcp *c, bool rd, bool wr)
{
	if (c->state == SL_TCP_CLOSED)
		return -ENOTCONN;
	if (c->state == SL_TCP_SYN_SENT) { /* as tcp_disconnect() of Linux */
		sl_tcp_done(c, ECONNRESET);
		return 0;
	}
	c->rx_shut |= rd;
	if (!wr)
		return 0;
	c->tx_shut = true;
	/* In SYN_RCVD it waits for ESTABLISHED. */
	if (c->state == SL_TCP_ESTABLISHED || c->state == SL_TCP_CLOSE_WAIT)
		sl_tcp_send_fin(c);
	return 0;
}

/* True: a connection that is aborted in this state resets its peer (RFC 9293 3.10.5). */
static bool is_reset_due(const struct sl_tcp *c)
{
	switch (c->state) {
	case SL_TCP_SYN_RCVD:
	case SL_TCP_ESTABLISHED:
	case SL_TCP_FIN_WAIT1:
	case SL_TCP_FIN_WAIT2:
	case SL_TCP_CLOSE_WAIT:
		return true;
	default:
		return false;
	}
}

void sl_tcp_abort(struct sl_tcp *c, int err)
{
	if (is_reset_due(c))
		sl_tcp_send_rst(c);
	sl_tcp_done(c, err);
}

/* Ends FIN_WAIT2 of an orphan: a small record waits for the peer's FIN, or nothing does. */
void sl_tcp_orphan_fin_wait2(struct sl_tcp *c)
{
	uint32_t ms = sl_tcp_opt(c, linger2_ms);

	if (ms == UINT32_MAX)
		sl_tcp_abort(c, 0);
	else
		sl_tcp_time_wait(c, true, ms ? ms : sl_tcp_params.fin_timeout_ms);
}

/* Does close()'s work. The caller checks c->state for CLOSED. */
static void close_now(struct sl_tcp *c, int linger_ms)
{
	if (c->state != SL_TCP_CLOSED && (linger_ms == 0 || c->rx_bytes)) {
		/* RFC 2525 2.17: the peer must learn that its data were not read. */
		tcp_count(c->host, linger_ms ? SL_TCPC_ABORT_ON_CLOSE : SL_TCPC_ABORT_ON_DATA, 1);
		sl_tcp_abort(c, 0);
		return;
	}
	switch (c->state) {
	case SL_TCP_CLOSED:
	case SL_TCP_SYN_SENT:
		sl_tcp_done(c, 0);
		break;
	case SL_TCP_ESTABLISHED:
	case SL_TCP_CLOSE_WAIT:
		sl_tcp_send_fin(c);
		break;
	case SL_TCP_FIN_WAIT2:
		sl_tcp_orphan_fin_wait2(c);
		break;
	default: /* FIN is under way; SYN_RCVD sends it when it can */
		break;
	}
}

bool sl_tcp_close(struct sl_tcp *c, int linger_ms)
{
	c->rx_shut = c->tx_shut = true;
	/* Orphan only afterwards: what ends within this call is the caller's to free. */
	close_now(c, linger_ms);
	if (c->state != SL_TCP_CLOSED && sl_unlikely(sl_tcp_orphan_is_over(c, 0))) {
		tcp_count(c->host, SL_TCPC_ABORT_ON_MEMORY, 1);
		sl_tcp_send_rst(c);
		sl_tcp_done(c, 0);
	}
	if (c->state == SL_TCP_CLOSED)
		return true;
	c->orphan = true;
	sl_tcp_orphan_count(c, true);
	sl_tcp_rcv_free(c);
	sl_tcp_timer_rearm(c);
	return false;
}

/* Options -------------------------------------------------------------------------------------- */

void sl_tcp_option_changed(struct sl_tcp *c)
{
	if (c->state == SL_TCP_CLOSED || c->state == SL_TCP_SYN_SENT || c->frozen)
		return;
	if (c->quickack_user == 2 && c->ack_pending)
		c->ack_now = SL_TCP_ACK_NOW;
	sl_tcp_rcv_space_freed(c);
	sl_tcp_timer_on_alive(c);
	sl_tcp_write_space(c);
	sl_tcp_want_out(c);
}

struct sl_tcp_opts *sl_tcp_opts(struct sl_tcp *c)
{
	static struct sl_tcp_opts nowhere;

	if (!c->opts)
		c->opts = sl_calloc(1, sizeof(*c->opts));
	return c->opts ? c->opts : &nowhere;
}

int sl_tcp_set_congestion(struct sl_tcp *c, const char *name)
{
	const struct sl_cc *cc = sl_cc_find(name);

	if (!cc)
		return -ENOENT;
	if (cc != c->cc) {
		sl_tcp_rate_free(c);
		c->cc = cc;
		if (c->state != SL_TCP_CLOSED)
			sl_cc_start(c);
		if (sl_tcp_is_synchronised(c->state))
			sl_cc_opened(c);
	}
	return 0;
}

const char *sl_tcp_congestion(const struct sl_tcp *c)
{
	return c->cc->name;
}

uint32_t sl_tcp_cc_info(const struct sl_tcp *c, union tcp_cc_info *info)
{
	if (c->cc->controls && !sl_tcp_opt(c, rate))
		return 0;
	return c->cc->info ? c->cc->info(c, info) : 0;
}
