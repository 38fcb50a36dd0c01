/* SPDX-License-Identifier: BSD-2-Clause */
/* Children: connections that a listener has made, until they are accepted. */
#include <string.h>

#include "tcp/listen/tcp_child.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_arrival.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_table.h"

void sl_tcp_child_gone(struct sl_tcp *c)
{
	struct sl_tcp_listener *l = c->child ? c->listener : NULL;

	if (!l)
		return;
	sl_list_del(&c->accept_node);
	l->nchildren--;
	c->listener = NULL;
}

/* Gives a child the listener's options, which accept(2) passes on. */
static void inherit(struct sl_tcp *c, const struct sl_tcp_listener *l)
{
	static const struct sl_tcp_opts none;

	if (l->rcvbuf)
		c->rcvbuf = l->rcvbuf;
	if (l->sndbuf)
		c->sndbuf = l->sndbuf;
	c->rcvbuf_locked = l->rcvbuf_locked;
	c->sndbuf_locked = l->sndbuf_locked;
	c->window_clamp = l->window_clamp;
	c->nodelay = l->nodelay;
	c->keepalive = l->keepalive;
	c->thin_lto = l->thin_lto;
	/* Different padding bytes would cost no more than an allocation. */
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
	if (memcmp(&l->opts, &none, sizeof(none)))
		*sl_tcp_opts(c) = l->opts;
	if (l->congestion[0])
		sl_tcp_set_congestion(c, l->congestion);
}

struct sl_tcp *sl_tcp_child_new(struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	struct sl_tcp_listener *l = r->l;
	struct sl_tcp *c = h->ops->child_new(l, &r->node.key, r->scope);

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
	c->ecn_ok = sl_tcp_wants_ecn(r);
	if (sl_unlikely(sl_tcp_params.reflect_tos))
		c->tos = r->syn.tos & 0xfc; /* (without ECN's bits) */
	sl_tcp_set_state(c, SL_TCP_SYN_RCVD);
	c->rx_first = SL_NO_FRAME;
	c->listener = l;
	sl_list_add_tail(&l->children, &c->accept_node);
	l->nchildren++;
	return c;
}

void sl_tcp_child_drop(struct sl_tcp_host *h, struct sl_tcp *c)
{
	c->reported = true; /* its owner hears of it by child_free() alone */
	sl_tcp_fini(c);
	h->ops->child_free(c);
}

bool sl_tcp_child_begin(struct sl_tcp *c, struct sl_tcp_arrival *a)
{
	struct sl_tcp_host *h = c->host;
	struct sl_tcp_listener *l = c->listener;
	bool kept = sl_tcp_arrives(c, a);

	if (c->state == SL_TCP_SYN_RCVD) {
		sl_tcp_child_drop(h, c);
		return kept;
	}
	tcp_count(h, SL_TCPC_PASSIVE_OPENS, 1);
	h->ops->accept_ready(l);
	return kept;
}

/* True: the accept queue is full. As in Linux (sk_acceptq_is_full()) listen(0) has room for one. */
bool sl_tcp_is_accept_full(const struct sl_tcp_listener *l)
{
	return l->nchildren > l->backlog;
}

void sl_tcp_accept_overflow(struct sl_tcp_host *h)
{
	tcp_count(h, SL_TCPC_LISTEN_OVERFLOWS, 1);
	tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
}

void sl_tcp_unaccept(struct sl_tcp_listener *l, struct sl_tcp *c)
{
	c->listener = l;
	sl_list_add(&l->children, &c->accept_node);
	l->nchildren++;
	c->host->ops->accept_ready(l); /* a call may have found nothing meanwhile */
}

struct sl_tcp *sl_tcp_accept(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	struct sl_tcp *c;

	if (sl_list_empty(&l->children))
		return NULL;
	c = sl_container_of(l->children.next, struct sl_tcp, accept_node);
	sl_tcp_child_gone(c);
	return c;
}
