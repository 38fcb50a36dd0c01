/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening: LISTEN STATE (RFC 9293 3.10.7.2), the SYN queue, the accept queue.
 *
 * Theory of operation: a SYN becomes a request, a small record in the host's table that answers and
 * repeats its SYN-ACK by a timer of its own. The ACK that completes the handshake makes a child of
 * it (a connection in SYN_RCVD, which then takes the very segment as any other would) and puts it
 * into the accept queue. When the SYN queue is full, the SYN-ACK is a cookie (tcp_cookie.c) and
 * nothing is kept. With a Fast Open cookie (RFC 7413) the SYN itself makes the child.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcp/tcp_req.h"

#define SYNACK_US     1000000ull /* RFC 6298 2.1 */
#define TFO_SERVER    2u         /* bit of tcp_fastopen */
#define TFO_NO_COOKIE 0x200u
#define TFO_COOKIE    8u

_Static_assert(offsetof(struct sl_tcp_req, timer) == sizeof(struct sl_tcp_node), "sl_tcp_node_of");

static struct sl_tcp_req *req_of(struct sl_tcp_node *n)
{
	return sl_container_of(n, struct sl_tcp_req, node);
}

void sl_tcp_listener_init(struct sl_tcp_listener *l)
{
	memset(l, 0, sizeof(*l));
	sl_list_init(&l->children);
	sl_list_init(&l->requests);
}

/* As sk_acceptq_is_full(): listen(0) has room for one. */
static bool is_accept_full(const struct sl_tcp_listener *l)
{
	return l->nchildren > l->backlog;
}

static bool is_syn_full(const struct sl_tcp_listener *l)
{
	return l->nrequests > l->backlog;
}

/* Is a SYN that begins anew (it reuses no TIME_WAIT) dropped? Without cookies the last quarter of
 * tcp_max_syn_backlog is for peers that are known to be alive, and we know none (tcp_conn_request()
 * of Linux). */
static bool is_syn_dropped(const struct sl_tcp_listener *l)
{
	uint32_t max = sl_tcp_params.max_syn_backlog;

	return is_syn_full(l) || (!sl_tcp_params.syncookies && l->nrequests + (max >> 2) > max);
}

/* SYN-ACK -------------------------------------------------------------------------------------- */

static uint32_t listener_rcvbuf(const struct sl_tcp_listener *l)
{
	return l->rcvbuf ? l->rcvbuf : sl_tcp_params.rmem_default;
}

bool sl_tcp_wants_ecn(const struct sl_tcp_seg *syn)
{
	return sl_tcp_params.ecn_in &&
	       (syn->flags & (SL_TCP_ECE | SL_TCP_CWR)) == (SL_TCP_ECE | SL_TCP_CWR);
}

/* RFC 7413 4.1.2: for the client's address, so that it is good for all its ports. */
static void tfo_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		       uint8_t cookie[TFO_COOKIE])
{
	struct {
		struct sl_addr local, remote;
	} who = {key->local, key->remote};
	uint64_t v = sl_tcp_siphash(h->key, &who, sizeof(who));

	memcpy(cookie, &v, TFO_COOKIE);
}

void sl_tcp_send_synack(struct sl_tcp_host *h, const struct sl_tcp_req *r, uint32_t tsval,
			void *from)
{
	struct sl_tcp_seg s = {
		.flags = SL_TCP_SYN | SL_TCP_ACK | (sl_tcp_wants_ecn(&r->syn) ? SL_TCP_ECE : 0),
		.seq = r->iss,
		.ack = r->syn.seq + 1,
		.wnd = (uint16_t)sl_min(r->rcv_wnd, (uint32_t)UINT16_MAX),
		.opts = SL_TCPO_MSS,
		.mss = r->mss,
	};

	if (sl_tcp_params.sack)
		s.opts |= r->syn.opts & SL_TCPO_SACK_OK;
	if (sl_tcp_params.window_scaling)
		s.opts |= r->syn.opts & SL_TCPO_WSCALE;
	s.wscale = r->rcv_wscale;
	if (sl_tcp_params.timestamps && r->syn.opts & SL_TCPO_TS) {
		s.opts |= SL_TCPO_TS;
		s.tsval = tsval;
		s.tsecr = r->ts_recent;
	}
	if (r->tfo_asked) {
		s.opts |= SL_TCPO_TFO;
		s.tfo_len = TFO_COOKIE;
		tfo_cookie(h, &r->node.key, s.tfo);
	}
	h->ops->reply(h, &r->node.key, &s, from);
}

static uint32_t req_tsval(const struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	return sl_tcp_now_ms(h) + r->ts_off;
}

/* What is ours, and the peer's SYN. */
static void req_fill(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *syn)
{
	*r = (struct sl_tcp_req){
		.node = {.key = *key, .kind = SL_TCP_REQ},
		.l = l,
		.syn = *syn,
		.ts_off = sl_tcp_ts_offset(h, key),
		.ts_recent = syn->tsval,
		.rcv_wnd = sl_tcp_first_window(listener_rcvbuf(l), 0),
		.mss = sl_tcp_our_mss(h, key, l->opts.user_mss),
		.rcv_wscale = sl_tcp_rcv_wscale(listener_rcvbuf(l), l->rcvbuf_locked, 0),
		.born_us = h->now_us,
	};
	/* What we do not do ourselves was not offered. */
	if (!sl_tcp_params.timestamps)
		r->syn.opts &= (uint8_t)~SL_TCPO_TS;
	if (!sl_tcp_params.window_scaling)
		r->syn.opts &= (uint8_t)~SL_TCPO_WSCALE;
	if (!sl_tcp_params.sack)
		r->syn.opts &= (uint8_t)~SL_TCPO_SACK_OK;
	sl_timer_init(&r->timer);
	sl_list_init(&r->link);
}

/* Requests ------------------------------------------------------------------------------------- */

static struct sl_tcp_req *req_new(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	return h->ops->req_new ? h->ops->req_new(l) : malloc(sizeof(struct sl_tcp_req));
}

static void req_give_back(const struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	sl_share_step(); /* what takes its place is there (tcp_dead.c) */
	sl_store(&r->answered, false);
	if (h->ops->req_free)
		h->ops->req_free(r);
	else
		free(r);
}

void sl_tcp_req_free(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	struct sl_tcp_req *r = req_of(n);

	sl_timer_cancel(&h->wheel, &r->timer);
	sl_list_del(&r->link);
	r->l->nrequests--;
	h->nreq--;
	if (n->hashed)
		sl_tcp_table_del(h, n);
	req_give_back(h, r);
}

static void req_arm(struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	uint64_t us = SYNACK_US << sl_min(r->retries, (uint8_t)7);

	us = sl_min(us, sl_tcp_params.rto_max_ms * 1000ull);
	sl_timer_arm(&h->wheel, &r->timer, h->now_us + us);
}

static void req_answer_syn(struct sl_tcp_host *h, struct sl_tcp_req *r, void *from)
{
	sl_store(&r->answered, true);
	sl_tcp_send_synack(h, r, req_tsval(h, r), from);
	req_arm(h, r);
}

/* TCP_DEFER_ACCEPT: a child is made only with its first data, for so long. */
static bool is_deferred(const struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	return h->now_us - r->born_us < r->l->defer_accept_s * 1000000ull;
}

/* The SYN-ACK again, with twice the time each (RFC 6298 5.5). */
void sl_tcp_req_timer(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	struct sl_tcp_req *r = req_of(n);

	if (r->acked && is_deferred(h, r)) {
		req_arm(h, r);
		return;
	}
	if (r->retries >= sl_tcp_params.synack_retries) {
		tcp_count(h, SL_TCPC_ATTEMPT_FAILS, 1);
		sl_tcp_req_free(h, n);
		return;
	}
	r->retries++;
	tcp_count(h, SL_TCPC_RETRANS_SEGS, 1);
	req_answer_syn(h, r, NULL);
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
			req_answer_syn(h, req_at(it), NULL);
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

/* Children ------------------------------------------------------------------------------------- */

void sl_tcp_tfo_done(struct sl_tcp *c)
{
	if (c->tfo_child && c->child && c->listener)
		c->listener->ntfo--;
	c->tfo_child = false;
}

void sl_tcp_child_gone(struct sl_tcp *c)
{
	struct sl_tcp_listener *l = c->child ? c->listener : NULL;

	if (!l)
		return;
	l->ntfo -= c->tfo_child; /* an accepted one is the program's to bound */
	sl_list_del(&c->accept_node);
	l->nchildren--;
	c->listener = NULL;
}

/* What accept(2) gives has the listener's options. */
static void inherit(struct sl_tcp *c, const struct sl_tcp_listener *l)
{
	static const struct sl_tcp_opts none;

	if (l->rcvbuf)
		c->rcvbuf = l->rcvbuf;
	if (l->sndbuf)
		c->sndbuf = l->sndbuf;
	c->rcvbuf_locked = l->rcvbuf_locked;
	c->sndbuf_locked = l->sndbuf_locked;
	c->nodelay = l->nodelay;
	c->keepalive = l->keepalive;
	if (memcmp(&l->opts, &none, sizeof(none)))
		*sl_tcp_opts(c) = l->opts;
	if (l->congestion[0])
		sl_tcp_set_congestion(c, l->congestion);
}

/* A child in SYN_RCVD, in the table (r is not) and in the accept queue. NULL: no memory. */
static struct sl_tcp *child_new(struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	struct sl_tcp_listener *l = r->l;
	struct sl_tcp *c = h->ops->child_new(l, &r->node.key);

	if (!c)
		return NULL;
	sl_tcp_init(c, h);
	inherit(c, l);
	c->node.key = r->node.key;
	if (sl_tcp_table_add(h, &c->node) < 0) {
		sl_tcp_fini(c);
		h->ops->child_free(c);
		return NULL;
	}
	sl_tcp_start(c, &r->node.key, r->iss);
	c->child = true;
	c->adv_mss = r->mss;
	c->rcv_wnd = r->rcv_wnd;
	c->rcv_wscale = r->rcv_wscale;
	c->born_us = r->born_us;
	c->retries = r->retries;
	sl_tcp_take_syn(c, &r->syn);
	c->ts_recent = r->ts_recent;
	c->ecn_ok = sl_tcp_wants_ecn(&r->syn);
	sl_tcp_set_state(c, SL_TCP_SYN_RCVD);
	c->rx_first = SL_NO_FRAME;
	c->listener = l;
	sl_list_add_tail(&l->children, &c->accept_node);
	l->nchildren++;
	return c;
}

static void child_drop(struct sl_tcp_host *h, struct sl_tcp *c)
{
	c->reported = true; /* its owner hears of it by child_free() alone */
	sl_tcp_fini(c);
	h->ops->child_free(c);
}

/* The child takes the ACK that made it, data included. */
static bool child_begin(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp *c,
			const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off, void *from)
{
	bool kept = sl_tcp_arrives(c, seg, frame, off, from);

	if (c->state == SL_TCP_SYN_RCVD) {
		child_drop(h, c);
		return kept;
	}
	tcp_count(h, SL_TCPC_PASSIVE_OPENS, 1);
	h->ops->accept_ready(l);
	return kept;
}

static void overflow(struct sl_tcp_host *h)
{
	tcp_count(h, SL_TCPC_LISTEN_OVERFLOWS, 1);
	tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
}

/* SYN-RECEIVED STATE (3.10.7.4) of a request --------------------------------------------------- */

/* An ACK without a SYN of ours: the peer is out of step (RFC 5961 4.2, RFC 7323 5.3). */
static void req_answer(struct sl_tcp_host *h, struct sl_tcp_req *r, void *from)
{
	struct sl_tcp_seg s = {
		.flags = SL_TCP_ACK,
		.seq = r->iss + 1,
		.ack = r->syn.seq + 1,
		.wnd = (uint16_t)(r->rcv_wnd >> (r->syn.opts & SL_TCPO_WSCALE ? r->rcv_wscale : 0)),
	};

	if (sl_tcp_params.timestamps && r->syn.opts & SL_TCPO_TS) {
		s.opts = SL_TCPO_TS;
		s.tsval = req_tsval(h, r);
		s.tsecr = r->ts_recent;
	}
	h->ops->reply(h, &r->node.key, &s, from);
}

static bool is_req_limited(const struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	if (r->answered_us &&
	    h->now_us - r->answered_us < sl_tcp_params.invalid_ratelimit_ms * 1000ull)
		return true;
	r->answered_us = h->now_us;
	return false;
}

/* First to fourth: sequence, RST, SYN. */
static bool req_check(struct sl_tcp_host *h, struct sl_tcp_req *r, const struct sl_tcp_seg *seg,
		      void *from)
{
	uint32_t nxt = r->syn.seq + 1;
	bool ts = sl_tcp_params.timestamps && r->syn.opts & SL_TCPO_TS && seg->opts & SL_TCPO_TS;

	if ((seg->flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) == SL_TCP_SYN &&
	    seg->seq == r->syn.seq) { /* ours was lost */
		if (!r->held && !is_req_limited(h, r))
			req_answer_syn(h, r, from);
		return false;
	}
	if (sl_seq_lt(seg->seq, nxt) || sl_seq_gt(seg->seq, nxt + r->rcv_wnd) ||
	    (ts && sl_seq_lt(seg->tsval, r->ts_recent))) {
		if (!(seg->flags & SL_TCP_RST) && !is_req_limited(h, r))
			req_answer(h, r, from);
		return false;
	}
	if (seg->flags & SL_TCP_RST) {
		if (seg->seq == nxt) { /* RFC 5961 3.2 */
			tcp_count(h, SL_TCPC_ATTEMPT_FAILS, 1);
			sl_tcp_req_free(h, &r->node);
		} else if (!is_req_limited(h, r)) {
			req_answer(h, r, from);
		}
		return false;
	}
	if (seg->flags & SL_TCP_SYN) {
		if (!is_req_limited(h, r))
			req_answer(h, r, from);
		return false;
	}
	if (ts && seg->seq == nxt)
		r->ts_recent = seg->tsval;
	return true;
}

/* Fifth, the ACK: is there to be a child now? */
static bool req_may_complete(struct sl_tcp_host *h, struct sl_tcp_req *r,
			     const struct sl_tcp_seg *seg, void *from)
{
	if (!(seg->flags & SL_TCP_ACK))
		return false;
	if (seg->ack != r->iss + 1) {
		sl_tcp_reset_reply(h, &r->node.key, seg, from);
		return false;
	}
	if (is_deferred(h, r) && !sl_seg_seqlen(seg)) {
		r->acked = true;
		return false;
	}
	if (!is_accept_full(r->l))
		return true;
	overflow(h);
	if (sl_tcp_params.abort_on_overflow) {
		sl_tcp_reset_reply(h, &r->node.key, seg, from);
		sl_tcp_req_free(h, &r->node);
	} else {
		r->acked = true; /* the SYN-ACK, sent again, brings another ACK */
	}
	return false;
}

bool sl_tcp_req_input(struct sl_tcp_host *h, struct sl_tcp_node *n, struct sl_tcp_listener *l,
		      const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off, void *from)
{
	struct sl_tcp_req *r = req_of(n);
	struct sl_tcp *c;
	bool kept = false;

	if (!req_check(h, r, seg, from) || !req_may_complete(h, r, seg, from))
		return false;
	l = r->l; /* the group's member that has the request */
	sl_tcp_table_del(h, n);
	c = child_new(h, r);
	if (c)
		kept = child_begin(h, l, c, seg, frame, off, from);
	else
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
	sl_tcp_req_free(h, n);
	return kept;
}

/* By a cookie ---------------------------------------------------------------------------------- */

/* An ACK for which there is no record: does it bring a cookie of ours back? */
static bool cookie_input(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			 const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t frame,
			 uint16_t off, void *from)
{
	struct sl_tcp_seg syn;
	struct sl_tcp *c;
	struct sl_tcp_req r;

	if (!sl_tcp_cookie_take(h, l, key, seg, &syn)) {
		sl_tcp_reset_reply(h, key, seg, from);
		return false;
	}
	if (is_accept_full(l)) {
		overflow(h);
		return false;
	}
	req_fill(h, l, &r, key, &syn);
	r.iss = seg->ack - 1;
	r.retries = 1; /* when it was sent is not known: no RTT from it */
	c = child_new(h, &r);
	if (!c) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	return child_begin(h, l, c, seg, frame, off, from);
}

/* Fast Open ------------------------------------------------------------------------------------ */

/* tcp_try_fastopen() */
static bool is_tfo_good(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			const struct sl_tcp_key *key, const struct sl_tcp_seg *syn)
{
	bool option = syn->opts & SL_TCPO_TFO, good;
	uint8_t cookie[TFO_COOKIE];

	if (option && !syn->tfo_len)
		tcp_count(h, SL_TCPC_TFO_COOKIE_REQD, 1);
	if (!syn->len && !option)
		return false;
	if (l->ntfo >= l->tfo_qlen) {
		tcp_count(h, SL_TCPC_TFO_OVERFLOW, 1);
		return false;
	}
	if (l->tfo_no_cookie || sl_tcp_params.tfo & TFO_NO_COOKIE)
		return true;
	if (!option || !syn->tfo_len)
		return false;
	tfo_cookie(h, key, cookie);
	good = syn->tfo_len == TFO_COOKIE && memcmp(cookie, syn->tfo, TFO_COOKIE) == 0;
	tcp_count(h, good ? SL_TCPC_TFO_PASSIVE : SL_TCPC_TFO_PASSIVE_FAIL, 1);
	return good;
}

/* RFC 7413 4.2.2: the SYN's data are the program's before the handshake is complete. */
static bool tfo_input(struct sl_tcp_host *h, struct sl_tcp_listener *l, const struct sl_tcp_req *r,
		      const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off)
{
	struct sl_tcp *c = child_new(h, r);
	bool kept = false;

	if (!c) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return false;
	}
	c->tfo_child = true;
	l->ntfo++;
	if (seg->len && seg->len <= c->rcv_wnd)
		kept = sl_tcp_rcv_queue(c, c->rcv_nxt, frame, off, seg->len, false);
	c->syn_data_acked = seg->len;
	sl_tcp_send_syn(c);
	tcp_count(h, SL_TCPC_PASSIVE_OPENS, 1);
	h->ops->accept_ready(l);
	return kept;
}

/* LISTEN STATE (3.10.7.2) ---------------------------------------------------------------------- */

static void syn_input(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
		      const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off, bool *kept,
		      uint32_t isn, void *from)
{
	const struct sl_tcp_key *key = &r->node.key;
	bool full = is_syn_full(l), cookies = sl_tcp_params.syncookies && !l->holds;
	bool tfo = l->tfo_qlen && sl_tcp_params.tfo & TFO_SERVER && !l->holds;
	struct sl_tcp_req *q;

	if (is_accept_full(l)) {
		overflow(h);
		return;
	}
	if (cookies && ((full && !isn) || sl_tcp_params.syncookies == 2)) {
		sl_tcp_cookie_send(h, l, r, from);
		return;
	}
	if (!isn && is_syn_dropped(l)) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return;
	}
	r->iss = sl_tcp_isn(h, key);
	if (isn && sl_seq_lt(r->iss, isn))
		r->iss = isn;
	if (tfo && is_tfo_good(h, l, key, seg)) {
		*kept = tfo_input(h, l, r, seg, frame, off);
		return;
	}
	r->tfo_asked = tfo && seg->opts & SL_TCPO_TFO;
	q = req_new(h, l);
	if (!q) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return;
	}
	*q = *r;
	sl_timer_init(&q->timer);
	sl_list_init(&q->link);
	if (sl_tcp_table_add(h, &q->node) < 0) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		req_give_back(h, q);
		return;
	}
	sl_list_add_tail(&l->requests, &q->link);
	l->nrequests++;
	h->nreq++;
	q->held = l->holds;
	if (!q->held)
		req_answer_syn(h, q, from);
}

static bool is_syn_rate_reached(struct sl_tcp_host *h)
{
	return sl_unlikely(sl_tcp_params.max_syn_rate) &&
	       !sl_tcp_quota_take(&h->syns, sl_tcp_params.max_syn_rate, h->now_us);
}

void sl_tcp_listen_input(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			 const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t frame,
			 uint16_t off, bool *kept, uint32_t isn, void *from)
{
	struct sl_tcp_req r;

	*kept = false;
	if (seg->flags & SL_TCP_RST) /* first */
		return;
	if (seg->flags & SL_TCP_ACK) { /* second */
		if (seg->flags & SL_TCP_SYN)
			sl_tcp_reset_reply(h, key, seg, from);
		else
			*kept = cookie_input(h, l, key, seg, frame, off, from);
		return;
	}
	/* Third. A SYN with a FIN is a scan, no program's. */
	if (!(seg->flags & SL_TCP_SYN) || seg->flags & SL_TCP_FIN)
		return;
	if (is_syn_rate_reached(h)) {
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
		return;
	}
	req_fill(h, l, &r, key, seg);
	syn_input(h, l, &r, seg, frame, off, kept, isn, from);
}

/* The accept queue ----------------------------------------------------------------------------- */

struct sl_tcp *sl_tcp_accept(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	struct sl_tcp *c;

	if (sl_list_empty(&l->children))
		return NULL;
	c = sl_container_of(l->children.next, struct sl_tcp, accept_node);
	sl_tcp_child_gone(c);
	return c;
}

void sl_tcp_listener_fini(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	l->closed = true;
	sl_list_for_each_safe (it, &l->requests)
		sl_tcp_req_free(h, &sl_container_of(it, struct sl_tcp_req, link)->node);
	while (!sl_list_empty(&l->children)) {
		struct sl_tcp *c = sl_tcp_accept(h, l);

		c->reported = true; /* its owner hears of it by child_free() alone */
		if (c->state != SL_TCP_CLOSED)
			sl_tcp_abort(c, 0);
		child_drop(h, c);
	}
}
