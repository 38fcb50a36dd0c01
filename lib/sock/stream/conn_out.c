/* SPDX-License-Identifier: BSD-2-Clause */
/* The way out of a connection: each segment that the protocol gives becomes a packet on a leg.
 *
 * Theory of operation: a segment goes out in the frame that holds its bytes, with the headers in
 * the room in front, and joins the large packet that was posted last if it follows on. Connections
 * that want stamps or the NIC's pace take a way of their own. */
#include "sock/stream/conn_out.h"

#include "base/settings.h"
#include "sock/stream/errq_tcp.h"
#include "sock/stream/path.h"
#include "sock/stream/stream.h"
#include "stack/port.h"

/* True: the frame has a second reference, which is the program's (sl_zc_send()). */
static bool is_filled(uint32_t frame)
{
	return frame != SL_NO_FRAME && sl_frame_refs(frame) == 2 &&
	       sl_pool.charge[frame].tag == SL_FRAME_FILLED;
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
	if (off == SL_TCP_HEADROOM && is_filled(frame)) {
		sl_frame_ref(frame);
		return frame;
	}
	f = sl_lane_frame(lane);
	if (f != SL_NO_FRAME && frame != SL_NO_FRAME)
		memcpy(sl_frame_ptr(f) + SL_TCP_HEADROOM, sl_frame_ptr(frame) + off, len);
	return f;
}

static inline uint8_t *payload_of(uint32_t f)
{
	return sl_frame_ptr(f) + SL_TCP_HEADROOM;
}

static inline uint64_t sum_for(const struct sl_leg *leg, uint64_t sum)
{
	return leg->tx->caps & SL_TX_CSUM ? SL_CSUM_NONE : sum;
}

/* Posts a segment as a packet, whose headers begin at start. of: its connection, or NULL. Returns
 * the bytes of its headers; 0: no room. */
static inline unsigned post(struct sl_lane *lane, struct sl_leg *leg, const struct sl_tcp_seg *seg,
			    uint32_t f, const uint8_t *start, const void *of)
{
	unsigned headers = (unsigned)(payload_of(f) - start);
	struct sl_tx_desc d = {
		.frame = f,
		.off = (uint16_t)(start - sl_frame_ptr(f)),
		.len = (uint16_t)(headers + seg->len),
		.flags = leg->tx->caps & SL_TX_CSUM ? SL_TXD_CSUM : 0,
		.hdr = (uint8_t)headers,
	};

	if (sl_likely(sl_leg_post_tcp(leg, &d, seg, of)))
		return headers;
	sl_frame_put(&lane->frames, f);
	return 0;
}

/* Posts a segment of the connection; as post(). */
static unsigned put(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg,
		    uint32_t f, uint64_t sum)
{
	const uint8_t *start =
		sl_build_tcp(&c->path->hdr, seg, payload_of(f), c->ip_id, sum_for(leg, sum));

	return post(c->lane, leg, seg, f, start, c);
}

/* For a connection with transmit stamps: posts each segment as a packet of its own. */
static bool put_marked(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg,
		       uint32_t f, uint64_t sum)
{
	unsigned hdr = put(c, leg, seg, f, sum);
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

/* Posts a segment that the NIC may pace. A packet joined of segments stays within a burst. */
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
		sent = put(c, leg, seg, f, sum);
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

bool sl_conn_send(struct sl_tcp *t, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		  uint64_t psum)
{
	struct sl_tconn *c = sl_tconn_of(t);
	const struct sl_tconn_path *p;
	bool sent;
	uint32_t f;

	if (sl_unlikely(!sl_tconn_path_fresh(c)))
		sl_tconn_make_path(c);
	p = c->path;
	if (sl_unlikely(!p || !p->leg)) {
		sl_opening_missed();
		return true; /* lost: the protocol sends it again */
	}
	f = frame_for(c->lane, frame, off, seg->len);
	if (sl_unlikely(f == SL_NO_FRAME))
		return false;
	if (sl_unlikely(c->special & (SL_TCONN_MARKED | SL_TCONN_NIC)))
		return put_special(c, seg, f, psum);
	sent = p->leg->tx->open && sl_train_takes(p->leg, seg, c)
		       ? put_more(c->lane, p->leg, seg, f)
		       : put(c, p->leg, seg, f, psum);
	c->ip_id += sent;
	return sent;
}

static const struct sl_sock *sock_of(const struct sl_tcp_listener *l)
{
	return l ? sl_container_of_const(l, struct sl_tlisten, tcp)->sk : NULL;
}

/* The device for a link-local peer, else 0: inet_request_bound_dev_if(), tcp_v6_init_req(). */
uint32_t sl_conn_scope(const struct sl_tcp_key *key, const void *from)
{
	const struct sl_in *in = from;

	return sl_addr_is_linklocal(&key->remote) ? in->ifindex : 0;
}

/* The route for a reply without a connection: with listener sk's options, or none (NULL). */
static struct sl_dst *dst_without(struct sl_lane *lane, const struct sl_sock *sk,
				  const struct sl_tcp_key *key, uint32_t scope)
{
	if (!sk)
		return sl_tconn_find_back(lane, key, scope, 0, 0);
	return sl_tconn_find_back(lane, key, sl_tconn_child_oif(sk, scope), sk->mark,
				  sl_sock_tos(sk, &key->remote));
}

/* A listener's reply has its options, but may never be fragmented (ip_build_and_send_pkt()). */
bool sl_conn_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		   const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope)
{
	const struct sl_sock *sk = sock_of(l);
	struct sl_lane *lane = h->owner;
	struct sl_dst *d = dst_without(lane, sk, key, scope);
	struct sl_leg *leg = sl_tconn_leg_of(d);
	struct sl_tconn_look look = {.df = true};
	struct sl_tcp_hdr hdr;
	uint32_t f;

	if (!leg)
		return false;
	f = sl_lane_frame(lane);
	if (f == SL_NO_FRAME)
		return true;
	if (sk) {
		look.prio = sk->prio;
		look.tos = sl_sock_tos(sk, &key->remote);
		if (sl_unlikely(sl_tcp_params.reflect_tos && seg->flags & SL_TCP_SYN))
			look.tos = seg->tos;
		look.ttl = sl_sock_ttl(sk, &key->remote);
	}
	sl_tconn_make_headers(&hdr, d, key, &look);
	leg = sl_leg_by_prio(leg, look.prio);
	post(lane, leg, seg, f, sl_build_tcp(&hdr, seg, payload_of(f), 0, sum_for(leg, 0)), NULL);
	return true;
}

/* (An RTAX_ADVMSS of more than fits the way in would bring segments that are the kernel's.) */
struct sl_tcp_route sl_conn_route(struct sl_tcp_host *h, const struct sl_tcp *t,
				  const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				  uint32_t scope)
{
	const struct sl_tconn *c = t ? sl_container_of_const(t, struct sl_tconn, tcp) : NULL;
	struct sl_lane *lane = h->owner;
	struct sl_dst *d = c ? sl_tconn_find_dst(lane, key, c->oif, c->mark, t->tos)
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
		.mtu_locked = d->route.mtu_locked,
		.tcp = sl_unlikely(d->route.has_tcp) ? &d->route.tcp : NULL,
	};
}
