/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that the protocol calls (struct sl_tcp_ops), and the input of its segments.
 *
 * Theory of operation: the steering program chooses the slot of a segment: the connection's own, if
 * it has a claim of its own (as after connect()), or a listener's, whose children are found in the
 * host's table. Segments leave over a path (route, neighbour, leg) that is cached with the
 * connection as UDP's is; without a way out they are lost, and the protocol sends them again. */
#include <fcntl.h>

#include "base/heap.h"
#include "base/settings.h"
#include "base/sys.h"
#include "net/ipconf.h"
#include "sock/stream/tconn.h"
#include "steer.h"

/* The way out -----------------------------------------------------------------------------------
 */

static uint64_t now_ns(const struct sl_tcp_host *h)
{
	return h->now_us * 1000;
}

static struct sl_dst *find_dst(struct sl_lane *lane, const struct sl_tcp_key *k, uint32_t oif,
			       uint32_t mark, uint8_t tos)
{
	struct sl_route_key key = {
		.dst = k->remote,
		.src = k->local,
		.oif = oif,
		.mark = mark,
		.tos = tos,
	};
	struct sl_dst *d = sl_lane_dst(lane, &key, now_ns(lane->tcp));

	if (sl_unlikely(d->leg && !d->mac_ok && d->neigh))
		sl_neigh_use(d->neigh); /* the kernel resolves it meanwhile */
	return d;
}

static void make_headers(struct sl_tcp_hdr *hdr, const struct sl_dst *d, const struct sl_tcp_key *k,
			 uint8_t tos, uint8_t ttl, bool df)
{
	struct sl_udp_build b = {
		.vlan = d->vlan,
		.src = k->local,
		.dst = k->remote,
		.sport = k->lport,
		.dport = k->rport,
		.tos = tos,
		.ttl = ttl ? ttl : d->route.hoplimit,
		.df = df,
		.flowlabel =
			sl_ip_flow_label(IPPROTO_TCP, &k->local, &k->remote, k->lport, k->rport),
	};

	memcpy(b.smac, d->smac, 6);
	memcpy(b.dmac, d->dmac, 6);
	sl_build_tcp_hdr(hdr, &b);
}

static struct sl_leg *leg_of(const struct sl_dst *d)
{
	struct sl_leg *leg = d->mac_ok ? d->leg : NULL;

	return leg && !leg->dead ? leg : NULL;
}

static void make_path(struct sl_tconn *c)
{
	const struct sl_tcp_key *k = &c->tcp.node.key;
	struct sl_dst *d = find_dst(c->lane, k, c->oif, c->mark, c->tcp.tos);
	struct sl_tconn_path *p = c->path ? c->path : sl_calloc(1, sizeof(*p));

	c->path = p;
	if (!p)
		return;
	c->tcp.awake = true;
	p->d = d;
	p->serial = d->serial;
	p->leg = leg_of(d);
	if (p->leg)
		make_headers(&p->hdr, d, k, c->tcp.tos, c->ttl, c->df);
	if (p->leg)
		sl_tconn_pace(c);
}

void sl_tconn_rest(struct sl_tconn *c)
{
	sl_free(c->path);
	c->path = NULL;
}

static void op_rest(struct sl_tcp *t)
{
	struct sl_tconn *c = sl_tconn_of(t);

	if (c->path && !c->path->pacer)
		sl_tconn_rest(c);
}

static bool path_fresh(const struct sl_tconn *c)
{
	const struct sl_tconn_path *p = c->path;

	return p && p->d->serial == p->serial && sl_dst_fresh(p->d, now_ns(c->tcp.host)) &&
	       p->leg && !p->leg->dead;
}

struct sl_dst *sl_tconn_dst(struct sl_tconn *c)
{
	if (path_fresh(c))
		return c->path->d;
	return find_dst(c->lane, &c->tcp.node.key, c->oif, c->mark, c->tcp.tos);
}

struct sl_leg *sl_tconn_leg(struct sl_tconn *c)
{
	return sl_tconn_dst(c)->leg;
}

/* The frame that the segment goes out in: its own, unless the room in front of the bytes is not
 * free (others' bytes, or headers that are still being sent). */
static uint32_t frame_for(struct sl_lane *lane, uint32_t frame, uint16_t off, uint16_t len)
{
	uint32_t f;

	if (sl_likely(frame != SL_NO_FRAME && off == SL_TCP_HEADROOM &&
		      sl_frame_refs(frame) == 1)) {
		sl_frame_ref_single(frame);
		return frame;
	}
	f = sl_lane_frame(lane);
	if (f != SL_NO_FRAME && frame != SL_NO_FRAME)
		memcpy(sl_frame_ptr(f) + SL_TCP_HEADROOM, sl_frame_ptr(frame) + off, len);
	return f;
}

/* of: the connection; NULL: none. Its headers' bytes; 0: no room. */
static unsigned put(struct sl_lane *lane, struct sl_leg *leg, const struct sl_tcp_hdr *hdr,
		    const struct sl_tcp_seg *seg, uint32_t f, uint16_t ip_id, uint64_t sum,
		    const void *of)
{
	bool hw = leg->tx->caps & SL_TX_CSUM;
	uint8_t *payload = sl_frame_ptr(f) + SL_TCP_HEADROOM;
	uint8_t *start = sl_build_tcp(hdr, seg, payload, ip_id, hw ? SL_CSUM_NONE : sum);
	unsigned headers = (unsigned)(payload - start);
	struct sl_tx_desc d = {
		.frame = f,
		.off = (uint16_t)(start - sl_frame_ptr(f)),
		.len = (uint16_t)(headers + seg->len),
		.flags = hw ? SL_TXD_CSUM : 0,
		.hdr = (uint8_t)headers,
	};

	if (sl_likely(sl_leg_post_tcp(leg, &d, seg, of)))
		return headers;
	sl_frame_put(&lane->frames, f);
	return 0;
}

/* For a connection with transmit stamps: posts each segment as a packet of its own. */
static bool put_marked(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg,
		       uint32_t f, uint64_t sum)
{
	unsigned hdr = put(c->lane, leg, &c->path->hdr, seg, f, c->ip_id, sum, c);
	struct sl_tx_desc d = {
		.frame = f,
		.off = (uint16_t)(SL_TCP_HEADROOM - hdr),
		.len = (uint16_t)(hdr + seg->len),
		.hdr = (uint8_t)hdr,
	};

	if (hdr)
		sl_errq_segment(c, leg, seg, &d);
	c->ip_id += hdr != 0;
	return hdr;
}

/* Adds the segment to the large packet that was posted last. */
static bool put_more(struct sl_lane *lane, struct sl_leg *leg, const struct sl_tcp_seg *seg,
		     uint32_t f)
{
	if (sl_likely(sl_train_post(leg, f, SL_TCP_HEADROOM, seg)))
		return true;
	sl_frame_put(&lane->frames, f);
	return false;
}

/* By the NIC's paced queue, perhaps. It is asked for no more at once than a burst may have. */
static bool put_paced(struct sl_tconn *c, const struct sl_tcp_seg *seg, uint32_t f, uint64_t sum)
{
	struct sl_leg *leg = sl_tconn_way(c, seg);
	const struct sl_train *t = &c->lane->train;
	bool sent;

	if (c->special & SL_TCONN_MARKED)
		sent = put_marked(c, leg, seg, f, sum);
	else if (leg->tx->open && sl_train_takes(leg, seg, c) &&
		 sl_tconn_may_burst(c, t->n + 1u, t->hdr + t->first.len))
		sent = put_more(c->lane, leg, seg, f);
	else
		sent = put(c->lane, leg, &c->path->hdr, seg, f, c->ip_id, sum, c);
	if (sent)
		sl_tconn_posted(c, leg, seg);
	return sent;
}

/* Sends a segment of a connection that wants stamps or the NIC's pace. */
static bool put_special(struct sl_tconn *c, const struct sl_tcp_seg *seg, uint32_t f, uint64_t sum)
{
	bool sent;

	if (!(c->special & SL_TCONN_NIC))
		return put_marked(c, c->path->leg, seg, f, sum);
	sent = put_paced(c, seg, f, sum);
	c->ip_id += sent && !(c->special & SL_TCONN_MARKED);
	return sent;
}

static bool op_send(struct sl_tcp *t, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		    uint64_t psum)
{
	struct sl_tconn *c = sl_tconn_of(t);
	const struct sl_tconn_path *p;
	bool sent;
	uint32_t f;

	if (sl_unlikely(!path_fresh(c)))
		make_path(c);
	p = c->path;
	if (sl_unlikely(!p || !p->leg))
		return true; /* lost: the protocol sends it again */
	f = frame_for(c->lane, frame, off, seg->len);
	if (sl_unlikely(f == SL_NO_FRAME))
		return false;
	if (sl_unlikely(c->special))
		return put_special(c, seg, f, psum);
	sent = p->leg->tx->open && sl_train_takes(p->leg, seg, c)
		       ? put_more(c->lane, p->leg, seg, f)
		       : put(c->lane, p->leg, &p->hdr, seg, f, c->ip_id, psum, c);
	c->ip_id += sent;
	return sent;
}

static const struct sl_sock *sock_of(const struct sl_tcp_listener *l)
{
	return l ? sl_container_of(l, struct sl_tlisten, tcp)->sk : NULL;
}

/* The device for a link-local peer, else 0: inet_request_bound_dev_if(), tcp_v6_init_req(). */
static uint32_t op_scope(const struct sl_tcp_key *key, const void *from)
{
	const struct sl_in *in = from;

	return sl_addr_is_linklocal(&key->remote) ? in->ifindex : 0;
}

static uint32_t child_oif(const struct sl_sock *sk, uint32_t scope)
{
	return sk->bound_if ? sk->bound_if : scope;
}

/* The route for a reply without a connection: with listener sk's options, or none (NULL). */
static struct sl_dst *dst_without(struct sl_lane *lane, const struct sl_sock *sk,
				  const struct sl_tcp_key *key, uint32_t scope)
{
	if (!sk)
		return find_dst(lane, key, scope, 0, 0);
	return find_dst(lane, key, child_oif(sk, scope), sk->mark, sl_sock_tos(sk, &key->remote));
}

/* A listener's reply has its options, but may never be fragmented (ip_build_and_send_pkt()). */
static bool op_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope)
{
	const struct sl_sock *sk = sock_of(l);
	struct sl_lane *lane = h->owner;
	struct sl_dst *d = dst_without(lane, sk, key, scope);
	struct sl_leg *leg = leg_of(d);
	struct sl_tcp_hdr hdr;
	uint32_t f;

	if (!leg)
		return false;
	f = sl_lane_frame(lane);
	if (f == SL_NO_FRAME)
		return true;
	make_headers(&hdr, d, key, sk ? sl_sock_tos(sk, &key->remote) : 0,
		     sk ? sl_sock_ttl(sk, &key->remote) : 0, true);
	put(lane, leg, &hdr, seg, f, 0, 0, NULL);
	return true;
}

/* (An RTAX_ADVMSS of more than fits the way in would bring segments that are the kernel's.) */
static struct sl_tcp_route op_route(struct sl_tcp_host *h, const struct sl_tcp *t,
				    const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				    uint32_t scope)
{
	const struct sl_tconn *c = t ? sl_tconn_of((struct sl_tcp *)t) : NULL;
	struct sl_lane *lane = h->owner;
	struct sl_dst *d = c ? find_dst(lane, key, c->oif, c->mark, t->tos)
			     : dst_without(lane, sock_of(l), key, scope);
	uint32_t mtu = d->route.mtu ? d->route.mtu : 1500, hdr;
	const struct sl_leg *leg = d->leg;
	uint32_t room, mss;

	hdr = sl_addr_is_v4(&key->remote) ? 40 : 60;
	/* (TCP itself limits segments to the room of a transmit frame.) */
	room = (leg ? sl_port_rx_mtu(leg->port) : sl_pool.mtu) - hdr;
	mtu = sl_min(mtu, sl_settings.mtu ? (uint32_t)sl_settings.mtu : 65535u);
	mtu = sl_max(mtu, hdr + 64);
	room = sl_min(room, sl_settings.mss ? (uint32_t)sl_settings.mss : room);
	mss = sl_min(mtu - hdr, room);
	return (struct sl_tcp_route){
		.mss = (uint16_t)mss,
		.adv_mss = (uint16_t)(d->route.adv_mss ? sl_min(d->route.adv_mss, room) : mss),
		.init_cwnd = d->route.init_cwnd,
	};
}

/* The way in ------------------------------------------------------------------------------------
 */

static void key_of(const struct sl_in *in, struct sl_tcp_key *k)
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

/* The peer has its port anew, and means the listener of a connection that is over. That is the
 * kernel's now, which gets the SYN when it comes again: the claim goes. */
static bool is_anew(const struct sl_tconn *c, const struct sl_tcp_key *key,
		    const struct sl_tcp_seg *seg)
{
	if (!c->tcp.child || (seg->flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) != SL_TCP_SYN)
		return false;
	sl_tconn_end_grace(key);
	return true;
}

/* Handler of SL_SLOT_TCP. A connection that has become a TIME_WAIT is found by its key. */
static bool conn_input(void *obj, struct sl_in *in)
{
	struct sl_tconn *c = obj;
	uint16_t off = (uint16_t)(in->off + in->pkt.payload);
	struct sl_tcp_key key;

	if (is_foreign(sl_load(&c->lane), in))
		return false;
	if (sl_unlikely(in->stamp & SL_META_HW))
		note_stamp(c, in);
	key_of(in, &key);
	if (sl_likely(c->tcp.node.hashed && sl_tcp_key_eq(&c->tcp.node.key, &key)))
		return sl_tcp_conn_input(&c->tcp, &in->seg, in->frame, off, in);
	if (is_anew(c, &key, &in->seg))
		return false;
	return sl_tcp_input(c->lane->tcp, &key, &in->seg, in->frame, off, NULL, in);
}

/* The way back to the peer is by a device that is not offloaded: we could not answer it. */
static bool has_no_way(struct sl_lane *lane, const struct sl_sock *sk, const struct sl_tcp_key *key,
		       const struct sl_in *in)
{
	const struct sl_dst *d = find_dst(lane, key, child_oif(sk, op_scope(key, in)), sk->mark, 0);

	return !d->leg && (d->route.kind == SL_ROUTE_DEVICE || d->route.kind == SL_ROUTE_OTHER);
}

/* Handler of SL_SLOT_TCP_LISTEN: a handshake, or a connection that came by the listener. */
static bool listen_input(void *obj, struct sl_in *in)
{
	struct sl_tlisten *l = obj;
	struct sl_lane *lane = sl_load(&l->sk->lane);
	struct sl_tcp_key key;

	if (is_foreign(lane, in))
		return false;
	key_of(in, &key);
	/* A segment that is unknown here may be the kernel's: the peer sends it again. */
	if (sl_unlikely(sl_load(&l->sorting)) && !(in->seg.flags & SL_TCP_SYN) &&
	    !sl_tcp_knows(lane->tcp, &key))
		return false;
	if (sl_unlikely((in->seg.flags & (SL_TCP_SYN | SL_TCP_ACK | SL_TCP_RST)) == SL_TCP_SYN) &&
	    has_no_way(lane, l->sk, &key, in)) {
		sl_strays_asks(&key);
		return false;
	}
	return sl_tcp_input(lane->tcp, &key, &in->seg, in->frame,
			    (uint16_t)(in->off + in->pkt.payload), &l->tcp, in);
}

static void icmp_input(void *obj, const struct sl_in_icmp *e, struct sl_in *in)
{
	struct sl_tcp_key key = {e->local, e->remote, e->lport, e->rport};
	struct sl_lane *lane = in->lane;
	struct sl_tcp *t = lane->tcp ? sl_tcp_find(lane->tcp, &key) : NULL;

	if (!t)
		return;
	sl_tcp_icmp(t, e->seq, e->err, e->hard, e->mtu);
	if (sl_tconn_of(t)->path) /* perhaps a new path MTU, which makes no other event */
		sl_dst_outdate(sl_tconn_of(t)->path->d);
}

/* Events ----------------------------------------------------------------------------------------
 */

/* F_SETOWN's process or group learns of urgent data (sk_send_sigurg). */
static void send_sigurg(const struct sl_sock *sk)
{
	int owner = sl_sys_fcntl(sk->fd, F_GETOWN, 0);

	if (owner > 0 || owner < -4095)
		sl_sys(SYS_kill, owner, SIGURG);
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

static void op_event(struct sl_tcp *t, uint32_t ev)
{
	struct sl_tconn *c = sl_tconn_of(t);
	struct sl_sock *sk = c->sk;

	if (sl_unlikely(c->special & SL_TCONN_MARKED) && ev & SL_TCP_EV_SENT)
		sl_errq_acked(c);
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
	c->oif = child_oif(sk, scope);
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

static void op_tfo_answer(struct sl_tcp *t, const struct sl_tcp_seg *synack, bool lost)
{
	sl_tcp_fastopen_learn(&t->node.key, synack, lost);
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
	.send = op_send,
	.reply = op_reply,
	.scope = op_scope,
	.event = op_event,
	.paced = op_paced,
	.child_new = op_child_new,
	.child_free = op_child_free,
	.req_new = op_req_new,
	.req_free = sl_treq_free,
	.accept_ready = op_accept_ready,
	.rest = op_rest,
	.route = op_route,
	.tfo_answer = op_tfo_answer,
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
