/* SPDX-License-Identifier: BSD-2-Clause */
/* IP in and out: what the lane, the protocols and the wire have in common. */
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

/* A packet on its way in; one for each lane, refilled for each packet. */
struct sl_in {
	struct sl_frames *cache; /* the lane's */
	struct sl_lane_stats *stats;
	void *lane; /* struct sl_lane, for upper rooms */
	uint32_t ifindex;
	bool partial_ok;            /* the device may leave checksums unfinished */
	struct sl_bufs *bufs;       /* NULL: the packet is in one frame */
	struct sl_sources *sources; /* the lane's; NULL: routing is not asked about sources */
	uint64_t ends;              /* IPv4: addresses of a packet whose source is good; 0: none */
	/* of this packet */
	uint32_t frame;
	uint16_t off;  /* of pkt.data in the frame */
	uint8_t stamp; /* SL_META_SW, SL_META_HW: which stamps there are (sl_hw_stamp()) */
	uint64_t stamp_ns;
	uint32_t slot; /* that the steering program chose */
	uint8_t proto; /* IPPROTO_UDP, IPPROTO_TCP; of an ICMP error IPPROTO_ICMP or _ICMPV6 */
	uint8_t nmore; /* further frames it is in (sl_more_of()), of UDP only */
	struct sl_pkt pkt;
	struct sl_tcp_seg seg; /* of TCP only; last, since UDP's copies do without it */
};

/* The hardware's time stamp of a received packet, which lies in front of it; off: of the packet in
 * the frame. Only for one whose stamp says SL_META_HW. */
uint64_t sl_hw_stamp(uint32_t frame, uint16_t off);

/* Device of each number that SL_CLAIM_VLAN() gives; 0: none, or it is down. Atomic. */
extern uint32_t sl_in_vlan[SL_MAX_VLANS];

/* What a protocol does with a packet for an object of its kind. True: it kept the frame. */
typedef bool (*sl_in_handler)(void *obj, struct sl_in *in);
void sl_in_register(enum sl_slot_kind kind, sl_in_handler handler);

/* An ICMP error about a segment that we are said to have sent (RFC 792, 4443). Nobody has checked
 * that we did: that is TCP's business (RFC 5927). */
struct sl_in_icmp {
	struct sl_addr local, remote; /* of the segment */
	uint16_t lport, rport;
	uint32_t seq; /* of the segment */
	uint8_t type, code;
	bool v6;
	bool hard;    /* as Linux has it: the connection may fail of it at once */
	int err;      /* positive errno (icmp_err_convert, icmpv6_err_convert); 0: says nothing */
	uint32_t mtu; /* packet too big: MTU of the next hop less the IP header; else 0 */
};
/* What TCP does with one that was steered to an object of its kinds. */
typedef void (*sl_icmp_handler)(void *obj, const struct sl_in_icmp *e, struct sl_in *in);
void sl_in_register_icmp(enum sl_slot_kind kind, sl_icmp_handler handler);

/* Calls the handler of the slot's kind. */
bool sl_in_dispatch(const struct sl_slot *s, struct sl_in *in);

/* One received frame, all the way up. The frame is kept by a socket or freed. */
void sl_net_input(struct sl_in *in, const struct sl_rx_desc *desc);

/* What lies in front of a datagram in several frames, at the start of the first one: the others.
 * They are held and freed as that one is. */
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
/* As sl_frame_ref() and sl_frame_put(), of a packet in 1 + nmore frames. */
void sl_frames_ref_more(uint32_t frame, uint8_t nmore);
void sl_frames_put_more(struct sl_frames *cache, uint32_t frame, uint8_t nmore);

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

/* A destination of a lane: route, neighbour and device, cached. */
struct sl_dst {
	struct sl_route_key key;
	struct sl_route route;
	struct sl_neigh *neigh; /* NULL for multicast */
	void *leg;              /* the lane's leg on the route's device; NULL: the kernel sends */
	uint32_t vlan;
	uint32_t serial; /* raised at each change: headers made from it are stale */
	uint32_t neigh_seq;
	uint64_t asked_ns;
	uint8_t smac[6], dmac[6];
	bool mac_ok;
	bool used;
};

/* The lane's answers for devices: fills leg, smac and vlan of dst for dst->route.ifindex. */
typedef void (*sl_leg_finder)(void *lane, struct sl_dst *dst);

#define SL_DST_SETS 512
#define SL_DST_WAYS 4
#define SL_DST_AGED 64
struct sl_dst_cache {
	struct sl_dst dst[SL_DST_SETS][SL_DST_WAYS];
	uint8_t next[SL_DST_SETS]; /* which way to evict */
	uint32_t naged;            /* answers that grew old and are asked for by the keeper */
	struct sl_route_key aged[SL_DST_AGED];
};

/* Finds the destination, asking kernel and mirrors when it is new or stale; when it is only old it
 * is given as it is, and its key is added to c->aged. Never NULL. The pointer is the cache's: good
 * until the next call on the same lane that misses, so users keep serial and compare key. */
struct sl_dst *sl_dst_get(struct sl_dst_cache *c, const struct sl_route_key *key, void *lane,
			  sl_leg_finder find, uint64_t now_ns);

/* For who asks without holding the lane (the keeper): takes up to max keys off the list of those
 * that grew old; how many. Lane held. */
unsigned sl_dst_take_aged(struct sl_dst_cache *c, struct sl_route_key *keys, unsigned max);
/* The kernel's answer to one of them. Lane held. */
void sl_dst_answer(struct sl_dst_cache *c, const struct sl_route_key *key,
		   const struct sl_route *route, void *lane, sl_leg_finder find);

/* The answer is doubtful (an ICMP error came): ask again before the next use. NULL is fine. */
void sl_dst_outdate(struct sl_dst *dst);

/* Path MTU exceptions make no event: a destination in use is asked for again this often. */
#define SL_DST_REASK_NS 1000000000ull
/* Is what was cached still good? */
static inline bool sl_dst_fresh(const struct sl_dst *dst, uint64_t now_ns)
{
	if (sl_unlikely(dst->route.gen != sl_load(&sl_route_gen) ||
			now_ns - dst->asked_ns > SL_DST_REASK_NS))
		return false;
	return !dst->neigh ||
	       (dst->neigh_seq == sl_load(&dst->neigh->seq) && !sl_load(&dst->neigh->wants_probe));
}

#endif
