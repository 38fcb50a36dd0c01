/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP (RFC 768): the receive queue of a socket and what is accepted into it. No I/O, no locks, no
 * clock: the caller holds the lane. */
#ifndef SL_UDP_H
#define SL_UDP_H

#include "net/net.h"

/* A datagram in the queue: a frame, and where its parts are. A long one goes on in other frames
 * (sl_more_of()), which have the rest of its payload. */
struct sl_dgram {
	uint32_t frame;
	uint16_t off;                /* where the Ethernet header begins in the frame */
	uint16_t l3, l4, payload;    /* offsets from off */
	uint16_t len;                /* bytes of payload */
	uint16_t truesize;           /* bytes it counts against the buffer */
	uint8_t v6, tos, ttl, stamp; /* stamp: as sl_in.stamp */
	uint32_t ifindex;
	uint8_t nmore;      /* further frames */
	uint16_t first_len; /* payload bytes in the first frame, if nmore */
	uint64_t stamp_ns;
};

/* Bytes that a datagram counts against SO_RCVBUF in addition to its payload, as the kernel counts
 * an skb's own size. */
#define SL_DGRAM_OVERHEAD 256

struct sl_udp {
	struct sl_dgram *ring;     /* power of two, grows on demand; NULL: nothing came yet */
	uint32_t size, head, tail; /* head: next to read, tail: next to write */
	uint32_t deepest;          /* most that was in the queue, at most size; 0: count anew */
	uint32_t charged;          /* truesize in the queue */
	uint32_t more;             /* frames beside one for each datagram */
	uint32_t rcvbuf;           /* limit of charged, as SO_RCVBUF reads */
	uint32_t drops;            /* datagrams dropped since the socket was made (SO_RXQ_OVFL) */
	bool connected;            /* takes datagrams from remote only */
	bool moved;   /* it was on another lane, whose rings may still have packets; atomic */
	bool rx_shut; /* a receiver that finds nothing does not wait; datagrams are still queued */
	uint16_t remote_port; /* host order */
	struct sl_addr remote;
	void *lane; /* the lane of this socket: only its packets may touch the queue; atomic */
	struct sl_sock_stats *stats;
	/* Called after a datagram was queued. */
	void (*on_data)(struct sl_udp *u);
};

/* Number of datagrams in the queue. Any thread. */
static inline uint32_t sl_udp_queued(const struct sl_udp *u)
{
	return sl_load(&u->tail) - sl_load(&u->head);
}

/* Queues the packet, and takes over the caller's reference to its frame. (A small packet may be
 * copied and the frame given back at once: do not use it any more.) False: dropped and counted; the
 * reference is still the caller's. */
bool sl_udp_deliver(struct sl_udp *u, const struct sl_in *in);
/* Passes on a packet that has come by a lane which the queue has moved from. in->lane is held; its
 * reference stays the caller's. The room above that moves queues sets it. */
extern void (*sl_udp_elsewhere)(struct sl_udp *u, struct sl_in *in);
/* Handler of SL_SLOT_UDP: checks lane and peer, then calls sl_udp_deliver(). obj is the struct
 * sl_udp. */
bool sl_udp_input(void *obj, struct sl_in *in);

/* The oldest datagram, or NULL. It stays valid until sl_udp_pop(). */
static inline struct sl_dgram *sl_udp_peek(const struct sl_udp *u)
{
	return u->head == u->tail ? NULL : &u->ring[u->head & (u->size - 1)];
}
/* The n-th datagram in the queue, from 0, or NULL. */
static inline struct sl_dgram *sl_udp_peek_at(const struct sl_udp *u, uint32_t n)
{
	return n >= u->tail - u->head ? NULL : &u->ring[(u->head + n) & (u->size - 1)];
}
/* Removes the oldest datagram, which must exist, and drops the reference to its frames. */
void sl_udp_pop(struct sl_udp *u, struct sl_frames *cache);
/* Removes the oldest datagram, which is d, and leaves the reference to its frames to the caller.
 * This queue goes on paying for the frames until the caller gives them to sl_udp_release(). */
static inline void sl_udp_detach(struct sl_udp *u, const struct sl_dgram *d)
{
	u->stats->rx_queue_pkts--;
	u->stats->rx_queue_bytes -= d->len;
	u->more++;
	sl_store_release(&u->head, u->head + 1);
}
/* Gives back what sl_udp_detach() left: frame, nmore and truesize of that datagram. */
static inline void sl_udp_release(struct sl_udp *u, struct sl_frames *cache, uint32_t frame,
				  uint8_t nmore, uint32_t truesize)
{
	u->charged -= truesize;
	u->more -= 1u + nmore;
	if (sl_unlikely(nmore))
		sl_frames_put_more(cache, frame, nmore);
	else
		sl_frame_put(cache, frame);
}
/* Puts a detached datagram into another queue of the same socket; charges that, too. False: no
 * memory; it is still the caller's. */
bool sl_udp_append(struct sl_udp *u, const struct sl_dgram *d);
/* Empties the queue and frees the ring. */
void sl_udp_fini(struct sl_udp *u, struct sl_frames *cache);

/* The payload, or, with nmore, first_len bytes of it. */
static inline const uint8_t *sl_dgram_data(const struct sl_dgram *d)
{
	return sl_frame_ptr(d->frame) + d->off + d->payload;
}
/* Fills v with the pieces in which the payload lies, at most SL_RX_BUFS; returns how many. */
unsigned sl_dgram_pieces(const struct sl_dgram *d, struct sl_piece *v);
/* Source and destination of a queued datagram, from its headers; sport in host order. dst may be
 * NULL. */
void sl_dgram_addrs(const struct sl_dgram *d, struct sl_addr *src, uint16_t *sport,
		    struct sl_addr *dst);

#endif
