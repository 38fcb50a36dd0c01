/* SPDX-License-Identifier: BSD-2-Clause */
/* IP receive and send: shared by the lane, the protocols and the wire format. */
#ifndef SL_NET_H
#define SL_NET_H

#include "base/stats.h"
#include "io/io.h"
#include "net/flow.h"
#include "net/martian.h"
#include "net/neigh.h"
#include "net/route.h"
#include "steer.h"
#include "wire/tcp_seg.h"
#include "wire/wire.h"

/* A received packet. receive() (stack/stack.c) has one, which it refills for each packet. */
struct sl_in {
	struct sl_frames *cache; /* the lane's */
	struct sl_lane_stats *stats;
	void *lane; /* struct sl_lane, opaque in this room */
	uint32_t ifindex;
	bool partial_ok;            /* the device may leave checksums unfinished */
	struct sl_bufs *bufs;       /* NULL: the packet is in one frame */
	struct sl_gro *gro;         /* NULL: segments are not aggregated */
	struct sl_run *run;         /* TCP: what follows the current segment; NULL: nothing */
	struct sl_sources *sources; /* the lane's; NULL: routing is not asked about sources */
	uint64_t ends; /* IPv4: addresses of the last packet with a good source; 0: none */
	/* fields of the current packet */
	uint32_t frame;
	uint16_t off;      /* offset of pkt.data in the frame */
	uint8_t stamp;     /* which stamps exist: SL_META_SW, SL_META_HW (sl_hw_stamp()) */
	uint64_t stamp_ns; /* else, with SLUICE_LATENCY_STATS, about when it came */
	uint32_t slot;     /* slot chosen by the steering program */
	uint8_t proto;     /* IPPROTO_UDP, IPPROTO_TCP; of an ICMP error IPPROTO_ICMP or _ICMPV6 */
	uint8_t nmore;     /* UDP only: number of further frames (sl_more_of()) */
	struct sl_pkt pkt;
	struct sl_tcp_seg seg; /* TCP only; last, since copies for UDP leave it out */
};

/* The hardware's time stamp of a received packet, stored in front of it; off: of the packet in the
 * frame. Only for a packet whose stamp has SL_META_HW. */
uint64_t sl_hw_stamp(uint32_t frame, uint16_t off);

/* ifindex of the VLAN device for each number that SL_CLAIM_VLAN() gave it; 0: none, or the device
 * is down. Atomic. */
extern uint32_t sl_in_vlan[SL_MAX_VLANS];

/* An ICMP error about a segment of ours (RFC 792, 4443). It may be forged: TCP checks whether the
 * segment was sent (RFC 5927). */
struct sl_in_icmp {
	struct sl_addr local, remote; /* of the segment */
	uint16_t lport, rport;
	uint32_t seq; /* of the segment */
	uint8_t type, code;
	bool v6;
	bool no_way;        /* a router has no way to the peer (RFC 6069 3) */
	uint16_t inner, l4; /* the segment's headers, from in->pkt.data; within the payload */
	uint32_t info;      /* of a parameter problem the place; of IPv6 all that stands there */
	int err;            /* positive errno (icmp_err_convert, icmpv6_err_convert); 0: no error */
	uint32_t mtu;       /* packet too big: MTU of the next hop less the IP header; else 0 */
};
/* TCP's function for an ICMP error that was steered to one of its objects. Lane held. */
typedef void (*sl_icmp_handler)(void *obj, const struct sl_in_icmp *e, struct sl_in *in);
/* Call once for each kind, before packets come. */
void sl_in_register_icmp(enum sl_slot_kind kind, sl_icmp_handler handler);

/* Passes one received frame up to its socket, which keeps the frame; else frees it. Lane held. */
void sl_net_input(struct sl_in *in, const struct sl_rx_desc *desc);

/* The further frames of a datagram, listed at the start of its first frame. They are referenced and
 * freed together with the first frame. */
struct sl_more {
	struct {
		uint32_t frame;
		uint16_t off, len;
	} buf[SL_RX_BUFS - 1];
};

static inline const struct sl_more *sl_more_of(uint32_t frame)
{
	return (const struct sl_more *)sl_frame_ptr(frame);
}
/* Like sl_frame_ref() and sl_frame_put(), for a packet in 1 + nmore frames. */
void sl_frames_ref_more(uint32_t frame, uint8_t nmore);
void sl_frames_put_more(struct sl_frames *cache, uint32_t frame, uint8_t nmore);

/* Adds a reference to the frames of the current packet; sl_in_put() drops one. */
static inline void sl_in_ref(const struct sl_in *in)
{
	if (sl_unlikely(in->nmore))
		sl_frames_ref_more(in->frame, in->nmore);
	else
		sl_frame_ref(in->frame);
}

static inline void sl_in_put(const struct sl_in *in)
{
	if (sl_unlikely(in->nmore))
		sl_frames_put_more(in->cache, in->frame, in->nmore);
	else
		sl_frame_put(in->cache, in->frame);
}

/* A cached destination of a lane: route, neighbour and device. */
struct sl_dst {
	struct sl_route_key key;
	struct sl_route route;
	struct sl_neigh *neigh; /* NULL for multicast */
	void *leg; /* the lane's leg on the route's device; NULL: send through the kernel */
	uint32_t vlan;
	uint32_t serial;    /* raised at each change: headers made from it are stale */
	uint32_t neigh_seq; /* neigh->seq when dmac was read */
	uint64_t asked_ns;  /* when the kernel was asked, or the keeper told to ask */
	uint8_t smac[6], dmac[6];
	bool mac_ok; /* dmac may be used */
	bool used;
	uint16_t ip_id; /* of the next datagram there, if its socket is not connected */
	uint32_t id_ms; /* when it was last stirred */
};

/* Moves the ID on by a random number, up to the milliseconds since the last time, as Linux does
 * (ip_idents_reserve()). Each destination has an ID of its own from a random start, so nobody
 * learns from the IDs that it gets how many datagrams others get, nor foresees those of others
 * (RFC 7739): forged fragments would take the place of theirs. Lane held. */
void sl_dst_stir_id(struct sl_dst *d, uint64_t now_ns);

/* Fills leg, smac and vlan of dst for the device dst->route.ifindex. */
typedef void (*sl_leg_finder)(void *lane, struct sl_dst *dst);

#define SL_DST_SETS 512
#define SL_DST_WAYS 4
#define SL_DST_AGED 64
struct sl_dst_cache {
	struct sl_dst dst[SL_DST_SETS][SL_DST_WAYS];
	uint8_t next[SL_DST_SETS]; /* which way to evict next */
	struct sl_span_asks asks;  /* about peers that have proved nothing yet */
	uint32_t naged;            /* old answers that the keeper must ask for again */
	struct sl_route_key aged[SL_DST_AGED];
};

/* Finds the destination. Asks the kernel and the mirrors if it is new or stale; if it is only old,
 * returns it as it is and adds its key to c->aged. Never NULL. The next call on the lane that
 * misses may overwrite the result, so callers remember serial and compare the key. Lane held. */
struct sl_dst *sl_dst_get(struct sl_dst_cache *c, const struct sl_route_key *key, void *lane,
			  sl_leg_finder find, uint64_t now_ns);

/* Like the call above, for a SYN's source. When there are many, it may be the destination of
 * another address that the kernel routes alike (span.h), with that one's key. */
struct sl_dst *sl_dst_get_alike(struct sl_dst_cache *c, const struct sl_route_key *key, void *lane,
				sl_leg_finder find, uint64_t now_ns);

/* Removes up to max keys from the list of old answers, for the keeper, which asks again without
 * holding the lane. Returns how many. Lane held. */
unsigned sl_dst_take_aged(struct sl_dst_cache *c, struct sl_route_key *keys, unsigned max);
/* Stores the kernel's new answer for one of these keys. Lane held. */
void sl_dst_answer(struct sl_dst_cache *c, const struct sl_route_key *key,
		   const struct sl_route *route, void *lane, sl_leg_finder find);

/* Makes the next use of dst ask again, since the answer is doubtful (an ICMP error came). dst may
 * be NULL. Lane held. */
void sl_dst_outdate(struct sl_dst *dst);

/* A destination in use is asked for again after this time, because the kernel reports no event for
 * path MTU exceptions. */
#define SL_DST_REASK_NS 1000000000ull
/* True: the cached answer is still good. */
static inline bool sl_dst_fresh(const struct sl_dst *dst, uint64_t now_ns)
{
	if (sl_unlikely(dst->route.gen != sl_load(&sl_route_gen) ||
			now_ns - dst->asked_ns > SL_DST_REASK_NS))
		return false;
	return !dst->neigh ||
	       (dst->neigh_seq == sl_load(&dst->neigh->seq) && !sl_load(&dst->neigh->wants_probe));
}

#endif
