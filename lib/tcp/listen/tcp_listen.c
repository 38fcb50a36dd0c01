/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening: LISTEN STATE (RFC 9293 3.10.7.2).
 *
 * Theory of operation: a SYN becomes a request (tcp_req.c), a small record in the host's table that
 * answers and repeats its SYN-ACK by a timer of its own. The ACK that completes the handshake makes
 * a child of it (tcp_child.c: a connection in SYN_RCVD, which then takes the very segment as any
 * other would) and puts it into the accept queue. When the SYN queue is full, the SYN-ACK is a
 * cookie (tcp_cookie.c) and nothing is kept. With a Fast Open cookie (RFC 7413) the SYN itself
 * makes the child.
 */
#include <string.h>

#include "tcp/listen/tcp_child.h"
#include "tcp/listen/tcp_cookie.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/listen/tcp_pending.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_arrival.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_reass.h"

#define SYN_LEAST     64u
#define TFO_SERVER    2u /* bit of tcp_fastopen */
#define TFO_NO_COOKIE 0x200u

void sl_tcp_listener_init(struct sl_tcp_listener *l)
{
	memset(l, 0, sizeof(*l));
	sl_list_init(&l->children);
	sl_list_init(&l->requests);
}

/* True: the SYN queue is full. It holds more than in Linux with a small backlog, because SYNs wait
 * for the keeper while the program is elsewhere, and come in bunches before the first ACK. A cookie
 * is no substitute for a record: when its ACK finds the accept queue full, no SYN-ACK is sent
 * again, and that peer is connected to nobody. */
static bool is_syn_full(const struct sl_tcp_listener *l)
{
	return l->nrequests > sl_max(l->backlog, SYN_LEAST);
}

/* True: a SYN that begins anew (it reuses no TIME_WAIT) is dropped. Without cookies the last
 * quarter of tcp_max_syn_backlog is for peers that are known to be alive, and we know none
 * (tcp_conn_request() of Linux). */
static bool is_syn_dropped(const struct sl_tcp_listener *l)
{
	uint32_t max = sl_tcp_params.max_syn_backlog;

	return is_syn_full(l) || (!sl_tcp_params.syncookies && l->nrequests + (max >> 2) > max);
}

static struct sl_tcp_req *req_at(struct sl_list *link)
{
	return sl_container_of(link, struct sl_tcp_req, link);
}

void sl_tcp_listener_hold(struct sl_tcp_host *h, struct sl_tcp_listener *l, bool hold)
{
	l->holds = hold;
	if (hold)
		return;
	sl_list_for_each_safe (it, &l->requests)
		if (req_at(it)->held) {
			req_at(it)->held = false;
			sl_tcp_req_answer_syn(h, req_at(it));
		}
}

uint32_t sl_tcp_listener_keys(const struct sl_tcp_listener *l, bool held, struct sl_tcp_key *keys,
			      uint32_t n)
{
	uint32_t i = 0;

	for (struct sl_list *it = l->requests.next; it != &l->requests && i < n; it = it->next)
		if (req_at(it)->held == held)
			keys[i++] = req_at(it)->node.key;
	return i;
}

/* By a cookie ---------------------------------------------------------------------------------- */

/* Takes an ACK without a record, if it brings a cookie of ours back. */
static bool cookie_input(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			 const struct sl_tcp_key *key, struct sl_tcp_arrival *a)
{
	struct sl_tcp_seg syn;
	struct sl_tcp *c;
	struct sl_tcp_req r;

	if (!sl_tcp_cookie_take(h, l, key, a->seg, &syn)) {
		sl_tcp_reset_reply(h, key, a->seg, a->from);
		return false;
	}
	if (sl_tcp_is_accept_full(l)) {
		sl_tcp_accept_overflow(h);
		return false;
	}
	sl_tcp_req_fill(h, l, &r, key, &syn, a->from);
	r.iss = a->seg->ack - 1;
	r.retries = 1; /* when it was sent is not known: no RTT from it */
	c = sl_tcp_child_new(h, &r);
	if (!c) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	return sl_tcp_child_begin(c, a);
}

/* Fast Open ------------------------------------------------------------------------------------ */

/* True: the SYN has a good Fast Open cookie (tcp_try_fastopen()). Sets r->tfo_asked if that is by
 * an older key, so that the answer brings one by the first. */
static bool is_tfo_good(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
			const struct sl_tcp_seg *syn)
{
	bool option = syn->opts & SL_TCPO_TFO;
	unsigned good;

	if (option && !syn->tfo_len)
		tcp_count(h, SL_TCPC_TFO_COOKIE_REQD, 1);
	if (!syn->len && !option)
		return false;
	if (sl_tcp_pending_count(h, l) >= l->tfo_qlen) {
		tcp_count(h, SL_TCPC_TFO_OVERFLOW, 1);
		return false;
	}
	if (l->tfo_no_cookie || r->route_tfo || sl_tcp_params.tfo & TFO_NO_COOKIE)
		return true;
	if (!option || !syn->tfo_len)
		return false;
	good = sl_tcp_tfo_key_of(h, l, &r->node.key, syn);
	r->tfo_asked = good > 1;
	tcp_count(h, good ? SL_TCPC_TFO_PASSIVE : SL_TCPC_TFO_PASSIVE_FAIL, 1);
	return good;
}

static void answer_tfo(struct sl_tcp *c, const struct sl_tcp_req *r)
{
	struct sl_tcp_seg cookie = {.tfo_len = SL_TCP_TFO_COOKIE};

	if (!r->tfo_asked) {
		sl_tcp_send_syn(c);
		return;
	}
	cookie.opts = SL_TCPO_TFO | (r->syn.opts & SL_TCPO_TFO_EXP);
	sl_tcp_tfo_cookie(c->host, r->l, &r->node.key, cookie.tfo);
	sl_tcp_send_syn_cookie(c, &cookie);
}

/* Makes the child that reads the SYN's data before the handshake is complete (RFC 7413 4.2.2). */
static bool tfo_input(struct sl_tcp_host *h, struct sl_tcp_listener *l, const struct sl_tcp_req *r,
		      const struct sl_tcp_arrival *a)
{
	const struct sl_tcp_seg *seg = a->seg;
	struct sl_tcp *c = sl_tcp_child_new(h, r);
	bool kept = false;

	if (!c) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	if (!sl_tcp_pending_add(c, l)) {
		sl_tcp_child_gone(c);
		sl_tcp_child_drop(h, c);
		return false;
	}
	if (seg->len && seg->len <= c->rcv_wnd)
		kept = sl_tcp_rcv_queue(c, c->rcv_nxt, a->frame, a->off, seg->len, false);
	c->syn_data_acked = seg->len;
	answer_tfo(c, r);
	tcp_count(h, SL_TCPC_PASSIVE_OPENS, 1);
	h->ops->accept_ready(l);
	return kept;
}

/* LISTEN STATE (3.10.7.2) ---------------------------------------------------------------------- */

/* True: the frame was kept. */
static bool syn_input(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
		      struct sl_tcp_arrival *a, uint32_t isn)
{
	const struct sl_tcp_key *key = &r->node.key;
	bool full = is_syn_full(l), cookies = sl_tcp_params.syncookies && !l->holds;
	bool tfo = l->tfo_qlen && sl_tcp_params.tfo & TFO_SERVER && !l->holds;
	struct sl_tcp_req *q;

	if (sl_tcp_is_accept_full(l)) {
		sl_tcp_accept_overflow(h);
		return false;
	}
	if (cookies && ((full && !isn) || sl_tcp_params.syncookies == 2)) {
		sl_tcp_cookie_send(h, l, r, a->from);
		return false;
	}
	if (!isn && is_syn_dropped(l)) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	r->iss = sl_tcp_isn(h, key);
	if (isn && sl_seq_lt(r->iss, isn))
		r->iss = isn;
	if (tfo && is_tfo_good(h, l, r, a->seg))
		return tfo_input(h, l, r, a);
	r->tfo_asked = tfo && a->seg->opts & SL_TCPO_TFO;
	q = sl_tcp_req_add(h, r);
	if (!q) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	q->held = l->holds;
	if (!q->held)
		sl_tcp_req_answer_syn(h, q);
	return false;
}

static bool is_syn_rate_reached(struct sl_tcp_host *h)
{
	return sl_unlikely(sl_tcp_params.max_syn_rate) &&
	       !sl_tcp_quota_take(&h->syns, sl_tcp_params.max_syn_rate, h->now_us);
}

bool sl_tcp_listen_input(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			 const struct sl_tcp_key *key, struct sl_tcp_arrival *a, uint32_t isn)
{
	const struct sl_tcp_seg *seg = a->seg;
	struct sl_tcp_req r;

	if (seg->flags & SL_TCP_RST) /* first */
		return false;
	if (seg->flags & SL_TCP_ACK) { /* second */
		if (!(seg->flags & SL_TCP_SYN))
			return cookie_input(h, l, key, a);
		sl_tcp_reset_reply(h, key, seg, a->from);
		return false;
	}
	/* Third. A SYN with a FIN is a scan, no program's. */
	if (!(seg->flags & SL_TCP_SYN) || seg->flags & SL_TCP_FIN)
		return false;
	if (is_syn_rate_reached(h)) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	sl_tcp_req_fill(h, l, &r, key, seg, a->from);
	return syn_input(h, l, &r, a, isn);
}

void sl_tcp_listener_fini(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	l->closed = true;
	sl_tcp_pending_forget(h, l);
	sl_list_for_each_safe (it, &l->requests)
		sl_tcp_req_free(h, &sl_container_of(it, struct sl_tcp_req, link)->node);
	while (!sl_list_empty(&l->children)) {
		struct sl_tcp *c = sl_tcp_accept(h, l);

		c->reported = true; /* its owner hears of it by child_free() alone */
		if (c->state != SL_TCP_CLOSED)
			sl_tcp_abort(c, 0);
		sl_tcp_child_drop(h, c);
	}
}
