/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP receive queues.
 *
 * Theory of operation: a queue holds references to frames, so what it may hold is bounded twice:
 * by the socket's receive buffer, as in the kernel, and by a dynamic threshold over the pool
 * (sl_frames_is_over()): a socket may hold no more frames than half of what is still free, so that
 * sockets that do not read never starve the others. Once frames are scarce small datagrams of all
 * sockets are copied together. */
#include "base/heap.h"
#include "io/scrap.h"
#include "udp/udp.h"

#define RING_FIRST 8
#define SHARERS    64 /* about how many sockets share what is left, once frames are scarce */

static bool grow_queue(struct sl_udp *u)
{
	uint32_t size = u->size ? u->size * 2 : RING_FIRST;
	struct sl_dgram *ring = sl_malloc(size * sizeof(*ring));

	if (!ring)
		return false;
	for (uint32_t i = u->head; i != u->tail; i++)
		ring[i & (size - 1)] = u->ring[i & (u->size - 1)];
	sl_free(u->ring);
	u->ring = ring;
	u->size = size;
	return true;
}

/* The queue is about to hold more than ever since the counters were set to zero. False: no memory.
 * (Full queues come here, too, so the count of the most costs the others nothing.) */
static SL_APART bool deepen(struct sl_udp *u, uint32_t held)
{
	if (held == u->size && !grow_queue(u))
		return false;
	u->deepest = held + 1;
	if (u->stats->rx_queue_max_pkts < u->deepest)
		u->stats->rx_queue_max_pkts = u->deepest;
	return true;
}

/* The kernel's test (net/ipv4/udp.c, __udp_enqueue_schedule_skb): full when the limit has been
 * passed, so one datagram always fits. */
static bool may_hold(struct sl_udp *u, struct sl_frames *cache)
{
	uint32_t held = u->tail - u->head, frames = held + u->more;

	if (sl_unlikely(u->charged > u->rcvbuf)) {
		u->stats->rx_drops++;
		return false;
	}
	if (sl_unlikely(frames > SL_QUEUE_FRAMES || cache->scarcity != SL_PLENTY) &&
	    sl_frames_is_over(cache, frames, 2, SHARERS)) {
		u->stats->rx_mem_drops++;
		return false;
	}
	if (sl_unlikely(held >= u->deepest) && !deepen(u, held)) {
		u->stats->rx_mem_drops++;
		return false;
	}
	return true;
}

static void account(struct sl_udp *u, const struct sl_dgram *d)
{
	struct sl_sock_stats *s = u->stats;

	s->rx_pkts++;
	s->rx_bytes += d->len;
	s->rx_queue_pkts++;
	s->rx_queue_bytes += d->len;
	if (s->rx_queue_bytes > s->rx_queue_max_bytes)
		s->rx_queue_max_bytes = s->rx_queue_bytes;
}

static SL_APART void note_long(struct sl_udp *u, struct sl_dgram *d, const struct sl_pkt *p)
{
	uint32_t first = p->len - p->tail_len - p->payload;

	d->first_len = (uint16_t)sl_min(first, (uint32_t)d->len);
	u->more += d->nmore;
}

/* Copies a small datagram behind those of others, with its headers and the record of its hardware
 * time stamp. */
static SL_APART bool to_scrap(struct sl_dgram *d, const struct sl_in *in)
{
	uint16_t before = d->stamp & SL_META_HW ? sizeof(struct sl_meta_hw) : 0;
	uint32_t len = (uint32_t)before + d->payload + d->len, frame;
	uint16_t off;

	if (d->nmore || len > SL_SCRAP_MAX || before > d->off)
		return false;
	frame = sl_scrap_put(in->cache, sl_frame_ptr(d->frame) + d->off - before, len, 8, &off);
	if (frame == SL_NO_FRAME)
		return false;
	sl_frame_spent(in->cache, d->frame);
	d->frame = frame;
	d->off = (uint16_t)(off + before);
	return true;
}

bool sl_udp_deliver(struct sl_udp *u, const struct sl_in *in)
{
	const struct sl_pkt *p = &in->pkt;
	struct sl_dgram *d;

	if (!may_hold(u, in->cache)) {
		u->stats->rx_drop_bytes += p->payload_len;
		u->drops++;
		return false;
	}
	d = &u->ring[u->tail & (u->size - 1)];
	d->frame = in->frame;
	d->off = in->off;
	d->l3 = p->l3;
	d->l4 = p->l4;
	d->payload = p->payload;
	d->len = p->payload_len;
	d->truesize = (uint16_t)sl_min(p->payload_len + SL_DGRAM_OVERHEAD, 0xffff);
	d->v6 = p->v6;
	d->tos = p->tos;
	d->ttl = p->ttl;
	d->stamp = in->stamp;
	d->ifindex = in->ifindex;
	d->stamp_ns = in->stamp_ns;
	d->nmore = in->nmore;
	if (sl_unlikely(d->nmore))
		note_long(u, d, p);
	if (sl_unlikely(in->cache->scarcity != SL_PLENTY))
		to_scrap(d, in);
	u->charged += d->truesize;
	account(u, d);
	sl_store_release(&u->tail, u->tail + 1);
	u->on_data(u);
	return true;
}

/* A connected socket takes datagrams of its peer only. The steering program matched the flow
 * already; an endpoint's packets that were under way during connect are caught here. */
static bool from_peer(const struct sl_udp *u, const struct sl_pkt *p)
{
	struct sl_addr src;

	if (sl_get_be16(p->data + p->l4) != u->remote_port)
		return false;
	sl_pkt_saddr(p, &src);
	return sl_addr_eq(&src, &u->remote);
}

void (*sl_udp_elsewhere)(struct sl_udp *u, struct sl_in *in);

static SL_COLD bool on_other_lane(struct sl_udp *u, struct sl_in *in)
{
	if (sl_load(&u->moved))
		sl_udp_elsewhere(u, in);
	else
		in->stats->rx_stale++;
	return false;
}

bool sl_udp_input(void *obj, struct sl_in *in)
{
	struct sl_udp *u = obj;

	/* The record in front of the packet chose the slot: it may be another lane's, which is not
	 * locked. */
	if (sl_unlikely(sl_load(&u->lane) != in->lane))
		return on_other_lane(u, in);
	if (u->connected && sl_unlikely(!from_peer(u, &in->pkt))) {
		in->stats->rx_stale++;
		return false;
	}
	return sl_udp_deliver(u, in);
}

void sl_udp_pop(struct sl_udp *u, struct sl_frames *cache)
{
	struct sl_dgram *d = &u->ring[u->head & (u->size - 1)];

	u->charged -= d->truesize;
	u->stats->rx_queue_pkts--;
	u->stats->rx_queue_bytes -= d->len;
	if (sl_unlikely(d->nmore)) {
		u->more -= d->nmore;
		sl_frames_put_more(cache, d->frame, d->nmore);
	} else {
		sl_frame_put(cache, d->frame);
	}
	sl_store_release(&u->head, u->head + 1);
}

bool sl_udp_append(struct sl_udp *u, const struct sl_dgram *d)
{
	if (sl_unlikely(u->tail - u->head == u->size) && !grow_queue(u))
		return false;
	u->ring[u->tail & (u->size - 1)] = *d;
	u->charged += d->truesize;
	u->more += d->nmore;
	u->stats->rx_queue_pkts++;
	u->stats->rx_queue_bytes += d->len;
	sl_store_release(&u->tail, u->tail + 1);
	return true;
}

void sl_udp_fini(struct sl_udp *u, struct sl_frames *cache)
{
	while (u->head != u->tail)
		sl_udp_pop(u, cache);
	sl_free(u->ring);
	u->ring = NULL;
	u->size = u->deepest = u->head = u->tail = 0;
}

unsigned sl_dgram_pieces(const struct sl_dgram *d, struct sl_piece *v)
{
	const struct sl_more *more = sl_more_of(d->frame);
	uint32_t first = d->nmore ? d->first_len : d->len, left = d->len - first;
	unsigned n = 1;

	v[0] = (struct sl_piece){sl_dgram_data(d), first};
	for (uint8_t i = 0; i < d->nmore && left; i++, n++) {
		v[n].data = sl_frame_ptr(more->buf[i].frame) + more->buf[i].off;
		v[n].len = sl_min(left, (uint32_t)more->buf[i].len);
		left -= v[n].len;
	}
	return n;
}

void sl_dgram_addrs(const struct sl_dgram *d, struct sl_addr *src, uint16_t *sport,
		    struct sl_addr *dst)
{
	struct sl_pkt p = {
		.data = sl_frame_ptr(d->frame) + d->off,
		.l3 = d->l3,
		.l4 = d->l4,
		.v6 = d->v6,
	};

	sl_pkt_saddr(&p, src);
	*sport = sl_get_be16(p.data + p.l4);
	if (dst)
		sl_pkt_daddr(&p, dst);
}
