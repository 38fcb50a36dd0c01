/* SPDX-License-Identifier: BSD-2-Clause */
/* The way into a connection, and what the protocol tells the socket.
 *
 * Theory of operation: the steering program chooses the slot of a segment: the connection's own, if
 * it has a claim of its own (as after connect()), or a listener's, whose children are found in the
 * host's table. The protocol's events become poll events of the socket. */
#include <fcntl.h>

#include "base/sys.h"
#include "sock/core/extra.h"
#include "sock/stream/conn_out.h"
#include "sock/stream/errq_tcp.h"
#include "sock/stream/path.h"
#include "steer.h"
#include "sock/stream/stream.h"
#include "stack/due.h"
#include "stack/lane_tcp.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_in.h"

static void op_rest(struct sl_tcp *t)
{
	struct sl_tconn *c = sl_tconn_of(t);

	if (c->path && !c->path->pacer)
		sl_tconn_rest(c);
}

/* The way in ------------------------------------------------------------------------------------
 */

static void key_of_pkt(const struct sl_in *in, struct sl_tcp_key *k)
{
	const uint8_t *ports = in->pkt.data + in->pkt.l4;

	sl_pkt_daddr(&in->pkt, &k->local);
	sl_pkt_saddr(&in->pkt, &k->remote);
	k->rport = sl_get_be16(ports);
	k->lport = sl_get_be16(ports + 2);
}

/* The record in front of the packet chose the slot: it may be another lane's, which is not
 * locked. */
static bool is_foreign(const struct sl_lane *lane, struct sl_in *in)
{
	if (sl_likely(lane == in->lane && lane->tcp))
		return false;
	in->stats->rx_stale++;
	return true;
}

/* The hardware's stamp of the last data (tcp_update_recv_tstamps()). */
static void note_stamp(struct sl_tconn *c, const struct sl_in *in)
{
	struct sl_errq *q = c->sk ? c->sk->errq : NULL;

	if (!q || !in->seg.len)
		return;
	q->hw_ifindex = in->ifindex;
	q->hw_ns = sl_hw_stamp(in->frame, in->off);
}

/* True: a SYN from a peer that uses its port again, for the listener of a connection that is over.
 * The kernel has that listener now, so we drop the claim: the next SYN reaches it. */
static bool is_anew(const struct sl_tconn *c, const struct sl_tcp_key *key,
		    const struct sl_tcp_seg *seg)
{
	if (!c->tcp.child || (seg->flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) != SL_TCP_SYN)
		return false;
	sl_tconn_end_grace(key);
	return true;
}

static inline struct sl_tcp_arrival arrival_of(struct sl_in *in)
{
	struct sl_tcp_arrival a =
		sl_tcp_arrival(&in->seg, in->frame, (uint16_t)(in->off + in->pkt.payload), in);

	a.run = in->run;
	return a;
}

/* Handler of SL_SLOT_TCP. A connection that has become a TIME_WAIT is found by its key. */
static bool conn_input(void *obj, struct sl_in *in)
{
	struct sl_tconn *c = obj;
	struct sl_tcp_arrival a;
	struct sl_tcp_key key;

	if (is_foreign(sl_load(&c->lane), in))
		return false;
	if (sl_unlikely(in->stamp & SL_META_HW))
		note_stamp(c, in);
	key_of_pkt(in, &key);
	a = arrival_of(in);
	if (sl_likely(c->tcp.node.hashed && sl_tcp_key_eq(&c->tcp.node.key, &key))) {
		if (sl_unlikely(in->pkt.ttl < c->min_ttl[in->pkt.v6]))
			return false;
		return sl_tcp_conn_input(&c->tcp, &a);
	}
	if (is_anew(c, &key, &in->seg))
		return false;
	return sl_tcp_input(c->lane->tcp, &key, NULL, &a);
}

/* True: the way back to the peer leads over a device that is not offloaded: we cannot answer. */
static bool has_no_way(struct sl_lane *lane, const struct sl_sock *sk, const struct sl_tcp_key *key,
		       const struct sl_in *in)
{
	const struct sl_dst *d = sl_tconn_find_back(
		lane, key, sl_tconn_child_oif(sk, sl_conn_scope(key, in)), sk->mark, 0);

	return !d->leg && (d->route.kind == SL_ROUTE_DEVICE || d->route.kind == SL_ROUTE_OTHER);
}

bool sl_tconn_hops_count;

/* True: the segment has come further than its connection allows, or the listener if it begins one
 * (a handshake that is under way is not asked). */
static bool is_too_far(const struct sl_tlisten *l, struct sl_tcp_host *h,
		       const struct sl_tcp_key *key, const struct sl_in *in)
{
	const struct sl_tcp *t = sl_tcp_find(h, key);
	bool begins = (in->seg.flags & (SL_TCP_SYN | SL_TCP_ACK)) == SL_TCP_SYN;

	if (t)
		return in->pkt.ttl <
		       sl_container_of_const(t, struct sl_tconn, tcp)->min_ttl[in->pkt.v6];
	return in->pkt.ttl < l->min_ttl[in->pkt.v6] && (begins || !sl_tcp_knows(h, key));
}

uint64_t sl_tconn_follow_ns;

/* Handler of SL_SLOT_TCP_LISTEN: a handshake, or a connection that came by the listener. */
static bool listen_input(void *obj, struct sl_in *in)
{
	struct sl_tlisten *l = obj;
	struct sl_lane *lane = sl_load(&l->sk->lane);
	struct sl_tcp_arrival a;
	struct sl_tcp_key key;

	if (is_foreign(lane, in))
		return false;
	key_of_pkt(in, &key);
	/* A segment that is unknown here may be the kernel's, or for another lane: the peer sends
	 * it again. */
	if (sl_unlikely(sl_load(&l->state) == SL_TLISTEN_SORTING || sl_load(&sl_tconn_follow_ns)) &&
	    !(in->seg.flags & SL_TCP_SYN) && !sl_tcp_knows(lane->tcp, &key))
		return false;
	if (sl_unlikely((in->seg.flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) == SL_TCP_SYN) &&
	    has_no_way(lane, l->sk, &key, in)) {
		sl_strays_asks(&key);
		return false;
	}
	if (sl_unlikely(sl_load(&sl_tconn_hops_count)) && is_too_far(l, lane->tcp, &key, in))
		return false;
	if (sl_unlikely(sl_settings.tcp_ctl_thread) && !sl_tcp_find(lane->tcp, &key) &&
	    sl_lane_later(lane, in))
		return true;
	a = arrival_of(in);
	return sl_tcp_input(lane->tcp, &key, &l->tcp, &a);
}

/* An error in flight: with IP_RECVERR the next call returns it, as tcp_v4_err() reports it; else it
 * waits for the end of the connection, or for SO_ERROR. */
static void icmp_error(struct sl_tcp *t, const struct sl_in_icmp *e, const struct sl_in *in)
{
	bool connecting = sl_tconn_is_connecting(sl_tconn_of(t));
	/* tcp_v4_err() looks at the packet that came back, tcp_v6_err() at the one that brought it.
	 */
	uint8_t hops = e->v6 ? in->pkt.ttl : in->pkt.data[e->inner + 8];
	unsigned tells = SL_TCONN_TELLS << (sl_addr_is_v4(&e->remote) ? 0 : 1);
	int16_t before = t->soft_error;

	if (sl_unlikely(hops < sl_tconn_of(t)->min_ttl[e->v6]))
		return;
	/* tcp_v6_err(), ip6_sk_accept_pmtu() */
	if (e->v6 && e->mtu && sl_tconn_of(t)->sk && sl_tconn_of(t)->sk->deaf6)
		return;
	t->soft_error = 0;
	sl_tcp_icmp(t, e->seq, e->err, e->mtu);
	if (e->no_way)
		sl_tcp_unreachable(t, e->seq);
	if (connecting && t->state == SL_TCP_CLOSED && sl_tconn_of(t)->sk)
		sl_errq_icmp(sl_tconn_of(t), e, in);
	if (!t->soft_error) {
		t->soft_error = before;
	} else if (sl_tconn_of(t)->special & tells && sl_tconn_of(t)->sk) {
		t->error = t->soft_error;
		t->soft_error = 0;
		t->host->ops->event(t, SL_TCP_EV_ERROR);
	}
}

static void icmp_input(void *obj, const struct sl_in_icmp *e, struct sl_in *in)
{
	struct sl_tcp_key key = {e->local, e->remote, e->lport, e->rport};
	struct sl_lane *lane = in->lane;
	struct sl_tcp *t = lane->tcp ? sl_tcp_find(lane->tcp, &key) : NULL;

	if (!t && lane->tcp && !e->mtu)
		sl_tcp_req_icmp(lane->tcp, &key, e->seq, e->err);
	if (!t)
		return;
	icmp_error(t, e, in);
	if (sl_tconn_of(t)->path) /* perhaps a new path MTU, which makes no other event */
		sl_dst_outdate(sl_tconn_of(t)->path->d);
}

/* Events ----------------------------------------------------------------------------------------
 */

/* Sends SIGURG for urgent data to F_SETOWN's process or group, like sk_send_sigurg(). */
static void send_sigurg(const struct sl_sock *sk)
{
	struct f_owner_ex owner; /* (F_GETOWN tells a small group's number like an error) */

	if (sl_sys(SYS_fcntl, sk->fd, F_GETOWN_EX, &owner) || owner.pid <= 0)
		return;
	if (owner.type != F_OWNER_TID ||
	    sl_sys(SYS_tgkill, sl_sys(SYS_getpid), owner.pid, SIGURG) < 0)
		sl_sys(SYS_kill, owner.type == F_OWNER_PGRP ? -owner.pid : owner.pid, SIGURG);
}

static uint32_t poll_events(uint32_t ev)
{
	return (ev & SL_TCP_EV_CONNECTED ? EPOLLOUT | EPOLLWRNORM : 0) |
	       (ev & SL_TCP_EV_IN ? EPOLLIN | EPOLLRDNORM : 0) |
	       (ev & SL_TCP_EV_OUT ? EPOLLOUT | EPOLLWRNORM : 0) |
	       (ev & SL_TCP_EV_URG ? EPOLLPRI : 0) |
	       /* tcp_fin() calls sk_state_change(), which wakes all waiters. */
	       (ev & SL_TCP_EV_RDHUP ? EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM | EPOLLRDHUP
				     : 0) |
	       (ev & SL_TCP_EV_ERROR ? EPOLLERR : 0) |
	       (ev & SL_TCP_EV_CLOSED
			? EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM | EPOLLRDHUP | EPOLLHUP
			: 0);
}

/* For a connection with transmit stamps, or with sends that are numbered. */
static SL_COLD void on_special(struct sl_tconn *c, uint32_t ev)
{
	if (c->special & SL_TCONN_MARKED && ev & SL_TCP_EV_SENT)
		sl_errq_acked(c);
	if (c->special & SL_TCONN_ZC && c->sk)
		sl_extra_complete(c->sk, false);
}

static void op_event(struct sl_tcp *t, uint32_t ev)
{
	struct sl_tconn *c = sl_tconn_of(t);
	struct sl_sock *sk = c->sk;

	if (sl_unlikely(c->special & (SL_TCONN_MARKED | SL_TCONN_ZC)) &&
	    ev & (SL_TCP_EV_SENT | SL_TCP_EV_CLOSED))
		on_special(c, ev);
	if (sk) {
		uint32_t events;

		if (sl_unlikely(ev & SL_TCP_EV_URG))
			send_sigurg(sk);
		if (sl_list_empty(&sk->watches))
			return;
		/* close() may wait here, too, until the last byte is acknowledged. */
		events = poll_events(ev);
		if (events)
			sl_sock_notify(sk, events);
		return;
	}
	if ((ev & SL_TCP_EV_CLOSED) && t->orphan) {
		bool clean = !t->error;

		sl_tcp_fini(t);
		sl_tconn_free(c, clean);
	}
}

static bool op_paced(struct sl_tcp *t, uint64_t *at_us)
{
	return sl_tconn_paced(sl_tconn_of(t), at_us);
}

static struct sl_tcp *op_child_new(struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				   uint32_t scope)
{
	struct sl_tlisten *lsn = sl_container_of(l, struct sl_tlisten, tcp);
	struct sl_sock *sk = lsn->sk;
	struct sl_tconn *c = sl_tconn_new(sk->lane);

	if (!c)
		return NULL;
	c->lsn_id = lsn->id;
	sl_tconn_ip_options(c, sk, &key->remote);
	c->prio = 0; /* sk_clone() */
	c->tcp.node.bound = sl_tcp_port_bound(sk);
	memcpy(c->min_ttl, lsn->min_ttl, sizeof(c->min_ttl));
	c->oif = sl_tconn_child_oif(sk, scope);
	return &c->tcp;
}

static void op_child_free(struct sl_tcp *t)
{
	sl_tconn_free(sl_tconn_of(t), false);
}

static void *op_req_new(struct sl_tcp_listener *l)
{
	return sl_treq_new(sl_container_of(l, struct sl_tlisten, tcp)->id);
}

static void op_accept_ready(struct sl_tcp_listener *l)
{
	struct sl_tlisten *lsn = sl_container_of(l, struct sl_tlisten, tcp);

	if (!sl_list_empty(&lsn->sk->watches))
		sl_sock_notify(lsn->sk, EPOLLIN | EPOLLRDNORM);
}

static void op_tfo_answer(struct sl_tcp *t, const struct sl_tcp_seg *synack, unsigned how)
{
	sl_tcp_fastopen_learn(&t->node.key, synack, how);
}

/* The counters lie in a row in the order of their ids: stats.def makes both. */
static void op_count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	struct sl_lane_stats *s = ((struct sl_lane *)h->owner)->stats;
	uint64_t *first = &s->TcpActiveOpens;

	first[id] += n;
}
_Static_assert(offsetof(struct sl_lane_stats, tcp_no_frames) ==
		       offsetof(struct sl_lane_stats, TcpActiveOpens) + SL_TCPC_NO_FRAMES * 8,
	       "the counts of TCP stand in a row");

static const struct sl_tcp_ops ops = {
	.send = sl_conn_send,
	.reply = sl_conn_reply,
	.scope = sl_conn_scope,
	.event = op_event,
	.paced = op_paced,
	.child_new = op_child_new,
	.child_free = op_child_free,
	.req_new = op_req_new,
	.req_free = sl_treq_free,
	.accept_ready = op_accept_ready,
	.rest = op_rest,
	.route = sl_conn_route,
	.tfo_answer = op_tfo_answer,
	.tfo_keys = sl_tcp_fastopen_keys,
	.count = op_count,
};

int sl_tconn_ops_init(void)
{
	sl_in_register(SL_SLOT_TCP, conn_input);
	sl_in_register(SL_SLOT_TCP_LISTEN, listen_input);
	sl_in_register_icmp(SL_SLOT_TCP, icmp_input);
	sl_in_register_icmp(SL_SLOT_TCP_LISTEN, icmp_input);
	return sl_stack_tcp_init(&ops);
}
