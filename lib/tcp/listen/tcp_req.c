/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests: SYNs that were answered, with the handshake not complete. */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "net/route.h"
#include "tcp/listen/tcp_child.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_metrics.h"
#include "tcp/tcp_arrival.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_late.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_table.h"
#include "wire/siphash.h"

#define SYNACK_US   1000000ull /* RFC 6298 2.1 */
#define TFO_KEYS_US 1000000ull /* a key that the machine changes is followed as fast */

_Static_assert(offsetof(struct sl_tcp_req, timer) == sizeof(struct sl_tcp_node), "sl_tcp_node_of");

static struct sl_tcp_req *req_of(struct sl_tcp_node *n)
{
	return sl_container_of(n, struct sl_tcp_req, node);
}

/* SYN-ACK -------------------------------------------------------------------------------------- */

static uint32_t listener_rcvbuf(const struct sl_tcp_listener *l)
{
	return l->rcvbuf ? l->rcvbuf : sl_tcp_params.rmem_default;
}

/* True: connections of l are controlled by ECN. */
static bool needs_ecn(const struct sl_tcp_listener *l)
{
	const char *name = l->congestion[0] ? l->congestion : sl_tcp_params.congestion;
	const struct sl_cc *cc = sl_cc_find(name);

	return cc && cc->ecn;
}

/* A SYN that IP marks as ECT comes from a network that writes into these bits (RFC 3168 6.1.1
 * forbids it), so marks would tell nothing. (A reserved bit of TCP says that the peer may do so:
 * tcp_ecn_create_request() of Linux.) */
bool sl_tcp_wants_ecn(const struct sl_tcp_req *r)
{
	bool may = (sl_tcp_params.ecn_in || r->route_ecn) && !r->syn.ect;

	return (may || needs_ecn(r->l)) &&
	       (r->syn.flags & (SL_TCP_ECE | SL_TCP_CWR)) == (SL_TCP_ECE | SL_TCP_CWR);
}

static void read_tfo_keys(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	if (!h->ops->tfo_keys || (l->tfo_keys_us && h->now_us - l->tfo_keys_us < TFO_KEYS_US))
		return;
	l->tfo_keys_us = h->now_us;
	h->ops->tfo_keys(l);
}

/* The cookie that Linux makes by this key (__tcp_fastopen_cookie_gen_cipher()): SipHash of the
 * addresses as they are in the SYN. */
static uint64_t tfo_hash(const uint8_t secret[16], const struct sl_tcp_key *key)
{
	struct {
		struct sl_addr remote, local;
	} path = {key->remote, key->local};
	uint32_t v4[2] = {key->remote.w[3], key->local.w[3]};

	if (sl_addr_is_v4(&key->remote))
		return sl_siphash(secret, v4, sizeof(v4));
	return sl_siphash(secret, &path, sizeof(path));
}

void sl_tcp_tfo_cookie(struct sl_tcp_host *h, struct sl_tcp_listener *l,
		       const struct sl_tcp_key *key, uint8_t cookie[SL_TCP_TFO_COOKIE])
{
	uint64_t v;

	read_tfo_keys(h, l);
	v = htole64(tfo_hash(l->ntfo_keys ? l->tfo_key[0] : h->keys->own, key));
	memcpy(cookie, &v, SL_TCP_TFO_COOKIE);
}

unsigned sl_tcp_tfo_key_of(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			   const struct sl_tcp_key *key, const struct sl_tcp_seg *syn)
{
	uint64_t v;

	if (syn->tfo_len != SL_TCP_TFO_COOKIE)
		return 0;
	read_tfo_keys(h, l);
	memcpy(&v, syn->tfo, SL_TCP_TFO_COOKIE);
	v = le64toh(v);
	for (unsigned i = 0; i < l->ntfo_keys; i++)
		if (v == tfo_hash(l->tfo_key[i], key))
			return i + 1;
	return !l->ntfo_keys && v == tfo_hash(h->keys->own, key);
}

static struct sl_tcp_seg synack_of(struct sl_tcp_host *h, const struct sl_tcp_req *r,
				   uint32_t tsval)
{
	struct sl_tcp_seg s = {
		.flags = SL_TCP_SYN | SL_TCP_ACK | (sl_tcp_wants_ecn(r) ? SL_TCP_ECE : 0),
		.seq = r->iss,
		.ack = r->syn.seq + 1,
		.wnd = (uint16_t)sl_min(r->rcv_wnd, (uint32_t)UINT16_MAX),
		.opts = SL_TCPO_MSS,
		.mss = r->mss,
		.ce = needs_ecn(r->l),
		.tos = r->syn.tos,
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
		s.opts |= SL_TCPO_TFO | (r->syn.opts & SL_TCPO_TFO_EXP);
		s.tfo_len = SL_TCP_TFO_COOKIE;
		sl_tcp_tfo_cookie(h, r->l, &r->node.key, s.tfo);
	}
	return s;
}

void sl_tcp_send_synack(struct sl_tcp_host *h, const struct sl_tcp_req *r, uint32_t tsval,
			void *from)
{
	struct sl_tcp_seg s = synack_of(h, r, tsval);

	sl_tcp_reply(h, r->l, &r->node.key, &s, from);
}

static uint32_t req_tsval(const struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	return sl_tcp_now_ms(h) + r->ts_off;
}

void sl_tcp_req_fill(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *syn, void *from)
{
	uint32_t scope = sl_tcp_scope(h, key, from), clamp = l->window_clamp;
	struct sl_tcp_route route = h->ops->route(h, NULL, l, key, scope);
	uint16_t mss;

	sl_tcp_metrics_path(h, key, &route);
	if (sl_unlikely(route.tcp) && !clamp)
		clamp = route.tcp->window;
	*r = (struct sl_tcp_req){
		.node = {.key = *key, .kind = SL_TCP_REQ},
		.l = l,
		.syn = *syn,
		.ts_off = sl_tcp_ts_offset(h, key),
		.ts_recent = syn->tsval,
		.scope = scope,
		.mss = sl_tcp_our_mss(route.adv_mss, l->opts.user_mss),
		.rcv_wscale = sl_tcp_rcv_wscale(listener_rcvbuf(l), l->rcvbuf_locked, clamp),
		.born_us = h->now_us,
	};
	/* The peer cannot have been offered options that we do not support. */
	if (!sl_tcp_params.timestamps)
		r->syn.opts &= (uint8_t)~SL_TCPO_TS;
	if (!sl_tcp_params.window_scaling)
		r->syn.opts &= (uint8_t)~SL_TCPO_WSCALE;
	if (!sl_tcp_params.sack)
		r->syn.opts &= (uint8_t)~SL_TCPO_SACK_OK;
	mss = (uint16_t)(r->mss - (r->syn.opts & SL_TCPO_TS ? 12 : 0));
	r->rcv_wnd = sl_tcp_first_window(listener_rcvbuf(l), clamp, mss);
	if (sl_unlikely(route.tcp)) {
		r->rcv_wnd = sl_tcp_route_window(route.tcp, r->rcv_wnd, mss);
		r->route_ecn = route.tcp->ecn;
		r->route_tfo = route.tcp->tfo_no_cookie;
	}
	sl_timer_init(&r->timer);
	sl_list_init(&r->link);
}

/* Requests ------------------------------------------------------------------------------------- */

static struct sl_tcp_req *req_new(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	return h->ops->req_new ? h->ops->req_new(l) : sl_malloc(sizeof(struct sl_tcp_req));
}

static void req_give_back(const struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	sl_share_step(); /* its successor must be visible first (tcp_dead.c) */
	sl_store(&r->answered, false);
	if (h->ops->req_free)
		h->ops->req_free(r);
	else
		sl_free(r);
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

struct sl_tcp_req *sl_tcp_req_add(struct sl_tcp_host *h, const struct sl_tcp_req *filled)
{
	struct sl_tcp_listener *l = filled->l;
	struct sl_tcp_req *r = req_new(h, l);

	if (!r)
		return NULL;
	*r = *filled;
	sl_timer_init(&r->timer);
	sl_list_init(&r->link);
	if (sl_tcp_table_add(h, &r->node) < 0) {
		req_give_back(h, r);
		return NULL;
	}
	sl_list_add_tail(&l->requests, &r->link);
	l->nrequests++;
	h->nreq++;
	return r;
}

static void req_arm(struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	uint64_t us = SYNACK_US << sl_min(r->retries, (uint8_t)7);

	us = sl_min(us, sl_tcp_params.rto_max_ms * 1000ull);
	sl_timer_arm(&h->wheel, &r->timer, h->now_us + us);
}

/* Sends the SYN-ACK. The kernel's would wait for the neighbour and then leave; ours is lost when
 * there is no way to send it. So it is tried again with doubled delays, for about as long as it
 * takes to the first repetition of a SYN-ACK that was sent. */
void sl_tcp_req_answer_syn(struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	struct sl_tcp_seg s = synack_of(h, r, req_tsval(h, r));

	sl_store(&r->answered, true);
	if (sl_likely(h->ops->reply(h, r->l, &r->node.key, &s, r->scope)) ||
	    r->stuck == SL_TCP_STUCK_MOST) {
		r->stuck = 0;
		req_arm(h, r);
		return;
	}
	sl_timer_arm(&h->wheel, &r->timer, h->now_us + (SL_TCP_STUCK_US << r->stuck++));
}

/* True: TCP_DEFER_ACCEPT puts the child off until its first data come, or the time is over. */
static bool is_deferred(const struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	return h->now_us - r->born_us < r->l->defer_accept_s * 1000000ull;
}

/* How often the SYN-ACK is repeated. TCP_SYNCNT is the listener's, too (reqsk_timer_handler()). */
static uint32_t most_retries(const struct sl_tcp_listener *l)
{
	return l->opts.syncnt ? l->opts.syncnt : sl_tcp_params.synack_retries;
}

/* Sends the SYN-ACK again, each time after twice the time (RFC 6298 5.5). */
void sl_tcp_req_timer(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	struct sl_tcp_req *r = req_of(n);

	if (r->acked && is_deferred(h, r)) {
		req_arm(h, r);
		return;
	}
	if (r->stuck) {
		sl_tcp_req_answer_syn(h, r);
		return;
	}
	if (r->retries >= most_retries(r->l)) {
		tcp_count(h, SL_TCPC_ATTEMPT_FAILS, 1);
		sl_tcp_req_free(h, n);
		return;
	}
	r->retries++;
	tcp_count(h, SL_TCPC_RETRANS_SEGS, 1);
	sl_tcp_req_answer_syn(h, r);
}

/* SYN-RECEIVED STATE (3.10.7.4) of a request --------------------------------------------------- */

/* Answers an ACK that fits no SYN of ours: the peer is out of step (RFC 5961 4.2, RFC 7323 5.3). */
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
	sl_tcp_reply(h, r->l, &r->node.key, &s, from);
}

static bool is_req_limited(const struct sl_tcp_host *h, struct sl_tcp_req *r)
{
	if (r->answered_us &&
	    h->now_us - r->answered_us < sl_tcp_params.invalid_ratelimit_ms * 1000ull)
		return true;
	r->answered_us = h->now_us;
	return false;
}

/* True: some of the segment is in the window, or it has no length and is at one of its ends. */
static bool is_req_window(const struct sl_tcp_req *r, uint32_t seq, uint32_t end)
{
	uint32_t nxt = r->syn.seq + 1, last = nxt + r->rcv_wnd;

	return seq == nxt || (sl_seq_gt(end, nxt) && sl_seq_lt(seq, last)) ||
	       (seq == last && seq == end);
}

/* The first four steps: sequence number, RST, security, SYN. */
static bool req_check(struct sl_tcp_host *h, struct sl_tcp_req *r, const struct sl_tcp_seg *seg,
		      void *from)
{
	uint32_t nxt = r->syn.seq + 1, end = seg->seq + sl_seg_seqlen(seg);
	bool ts = sl_tcp_params.timestamps && r->syn.opts & SL_TCPO_TS && seg->opts & SL_TCPO_TS;

	if ((seg->flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) == SL_TCP_SYN &&
	    seg->seq == r->syn.seq) { /* ours was lost */
		if (!r->held && !is_req_limited(h, r))
			sl_tcp_req_answer_syn(h, r);
		return false;
	}
	/* The wrong number is answered whatever the window says (RFC 9293 3.10.7.4 has it later;
	 * tcp_check_req() of Linux): the peer has another connection in mind. */
	if ((seg->flags & (SL_TCP_ACK | SL_TCP_RST)) == SL_TCP_ACK && seg->ack != r->iss + 1) {
		sl_tcp_reset_reply(h, &r->node.key, seg, from);
		return false;
	}
	if (!is_req_window(r, seg->seq, end) || (ts && sl_seq_lt(seg->tsval, r->ts_recent))) {
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
	if (ts && sl_seq_le(seg->seq, nxt))
		r->ts_recent = seg->tsval;
	return true;
}

/* The fifth step, the ACK. True: make a child now. */
static bool req_may_complete(struct sl_tcp_host *h, struct sl_tcp_req *r,
			     const struct sl_tcp_seg *seg, void *from)
{
	if (!(seg->flags & SL_TCP_ACK))
		return false;
	if (is_deferred(h, r) && !sl_seg_seqlen(seg)) {
		r->acked = true;
		return false;
	}
	if (!sl_tcp_is_accept_full(r->l))
		return true;
	sl_tcp_accept_overflow(h);
	if (sl_tcp_params.abort_on_overflow) {
		sl_tcp_reset_reply(h, &r->node.key, seg, from);
		sl_tcp_req_free(h, &r->node);
	} else {
		r->acked = true; /* the SYN-ACK, sent again, brings another ACK */
	}
	return false;
}

/* The kernel's choice (tcp_v4_err(), icmpv6_err_convert()). */
static bool is_fatal(const struct sl_tcp_key *key, int err)
{
	if (err == EPROTO)
		return true;
	return sl_addr_is_v4(&key->remote) ? err == ENETUNREACH || err == EHOSTUNREACH
					   : err == EACCES || err == ECONNREFUSED;
}

void sl_tcp_req_icmp(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t seq, int err)
{
	struct sl_tcp_node *n = sl_tcp_table_find(h, key);

	if (!n || n->kind != SL_TCP_REQ || seq != req_of(n)->iss || !is_fatal(key, err))
		return;
	tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
	sl_tcp_req_free(h, n);
}

bool sl_tcp_req_input(struct sl_tcp_host *h, struct sl_tcp_node *n, struct sl_tcp_arrival *a)
{
	struct sl_tcp_req *r = req_of(n);
	struct sl_tcp *c;
	bool kept = false;

	if (!req_check(h, r, a->seg, a->from) || !req_may_complete(h, r, a->seg, a->from))
		return false;
	sl_tcp_table_del(h, n);
	c = sl_tcp_child_new(h, r); /* of the group's member that has the request */
	if (c)
		kept = sl_tcp_child_begin(c, a);
	else
		tcp_count(h, SL_TCPC_LISTEN_DROPS, 1);
	sl_tcp_req_free(h, n);
	return kept;
}
