/* SPDX-License-Identifier: BSD-2-Clause */
/* A UDP socket: what it has beside the part that all sockets have. */
#ifndef SL_UDP_SOCK_H
#define SL_UDP_SOCK_H

#include "base/pace.h"
#include "sock/core/sock.h"
#include "udp/udp.h"
#include "wire/wire.h"

struct sl_dst;
struct sl_extra;
struct sl_leg;
struct sl_member;
struct sl_pacer;

/* The last destination, with headers made for it. */
struct sl_path {
	uint64_t v4_name; /* first 8 bytes of the sockaddr_in it was made for, 0: made otherwise */
	bool to_peer;     /* made for the connected peer */
	struct sl_addr dst;
	uint16_t port;
	uint32_t oif;
	struct sl_dst *d;     /* in the cache of the lane; NULL: no path yet */
	uint32_t serial;      /* of d when the headers were made */
	bool os;              /* a rule sends this destination through the kernel */
	uint16_t max_payload; /* in one frame */
	uint16_t max_long;    /* in several (SL_TX_SG) */
	struct sl_leg *leg;   /* NULL: through the kernel */
	struct sl_udp_hdr hdr;
};

/* Whether calls of one direction come from a thread with another lane (migrate.c). */
struct sl_follow {
	int32_t until;   /* calls until the next look at the thread */
	int32_t wait;    /* those after a wish; more each time that it was not fulfilled */
	uint32_t stable; /* further looks that must find the same thread */
	uint64_t key;    /* of its lane, if that is another than ours; 0: none */
};

/* A UDP socket: sl_sock_alloc(IPPROTO_UDP) makes one. */
struct sl_udp_sock {
	struct sl_sock sk;

	/* receive */
	struct sl_udp udp;
	uint32_t os_hot;   /* polls of the kernel left: it had data lately */
	uint32_t os_count; /* empty polls since the kernel was asked */
	uint8_t os_turn;   /* whether we or the kernel are next when both have data */
	union {
		struct {
			bool os_first; /* the kernel has datagrams from before the claim */
			bool filtered; /* has or had a callback: extra->accepted is read first */
			bool drains;   /* SLUICE_RX_CQ_DRAIN_RATE_NSEC is set */
			bool rx_timed; /* SLUICE_LATENCY_STATS is set */
			bool moves;    /* follows the thread that receives to its lane (migrate.c)
					*/
			bool lent;     /* another program has it, too (lend.c); atomic */
		};
		uint64_t rx_odd; /* nearly always 0 */
	};
	/* migrate.c */
	struct sl_follow rx_follow, tx_follow;
	int32_t rx_until_seen; /* rx_follow.until at the last look at the sending thread */
	bool tx_wish;          /* the wish is for the thread that sends */
	uint64_t wish;         /* key of the lane to which the keeper is to move it; atomic */
	bool moving;           /* its claims bring packets to the next lane already; atomic */
	uint64_t drained_ns;   /* when a call last turned the lane although data was queued */

	/* send */
	uint32_t stamps;              /* stamps wanted for each message, SOF_TIMESTAMPING_TX_* */
	bool tx_blocked;              /* a send found no room: EPOLLOUT is owed; lane held */
	uint32_t wmem;                /* bytes that are on a transmit ring; atomic */
	struct sl_pacer *pacer;       /* for a rate; NULL: it never had one; lane held */
	struct sl_pace_ask own_pace;  /* SO_MAX_PACING_RATE; lane held */
	struct sl_pace_ask rule_pace; /* the lowest of its destinations' rates; lane held */
	struct sl_list blocked;       /* in the lane's or the pacer's list of blocked senders */
	struct sl_path path;
	/* Settings that take every send off the fast path; tx_odd is nearly always 0. */
	union {
		struct {
			uint16_t gso_size; /* UDP_SEGMENT, 0: off */
			bool no_csum : 1, no_csum6 : 1;
			bool tx_timed; /* SLUICE_LATENCY_STATS is set */
			bool tx_shut;
			bool cork;      /* UDP_CORK: the kernel collects, until that ends */
			bool more;      /* the last had MSG_MORE: the kernel has its beginning */
			uint8_t behind; /* the kernel sent the last, and may have it still: for so
					   many it is looked for */
		};
		uint64_t tx_odd;
	};
	uint16_t ip_id; /* of the next datagram to the connected peer */
	bool tx_moves;  /* follows the thread that sends to its lane, if none receives (migrate.c)
			 */
	uint8_t mc_ttl;
	bool mc_loop;
	bool mc_all; /* IP_MULTICAST_ALL */
	bool late;   /* the kernel sends until a device is open (decide.c); atomic */
	bool ruled;  /* without claims: a rule has the kernel serve it, until the rule goes
			(decide.c), or it is lent; atomic */
	/* lend.c */
	uint64_t lent_ns;      /* when it was last lent; atomic */
	uint64_t relayed_ns;   /* when the last packet came since; the keeper's */
	uint32_t lent_moves;   /* times that some moved to the kernel; lane held; atomic */
	uint32_t lent_seen;    /* lent_moves when a call last found the kernel's queue empty; atomic
				*/
	uint32_t lent_tail;    /* of the queue, at the keeper's last look */
	int lent_stale;        /* looks at which a datagram of the one before was there */
	bool lent_called;      /* there was a receiving call since; atomic */
	bool lent_keeps;       /* what has come cannot be moved to the other program; under slow */
	bool lent_try;         /* a call asks whether it is this process's alone again; atomic */
	uint8_t lent_rest;     /* SL_REST_*: packets from before the claims went are here; atomic */
	uint32_t mc_oif;       /* IP(V6)_MULTICAST_IF */
	uint32_t sends_by;     /* the device of the last IPV6_PKTINFO, which was there ... */
	uint32_t sends_by_gen; /* ... when sl_route_gen had this value; lane held */
	struct sl_addr mc_src; /* source address that IP_MULTICAST_IF set */
	uint32_t sndbuf;
	struct sl_member *members; /* multicast memberships */
	struct sl_narrow narrow;   /* sl_steer(): the packets that it wants */
	uint32_t vni_after;        /* and the VXLAN device's VNI + 1; 0: any device */
	struct sl_extra *extra;    /* extra.h; stays with the object, NULL: it never had one */
};

enum {
	SL_REST_NONE,
	SL_REST_COMES, /* the claims are going: packets may still come to the ring; under slow */
	SL_REST_LEFT,  /* they have gone */
};

/* The UDP socket whose common part this is; code for both protocols checks proto first. */
static inline struct sl_udp_sock *sl_udp_sk(struct sl_sock *sk)
{
	return (struct sl_udp_sock *)sk;
}
static inline const struct sl_udp_sock *sl_udp_sk_const(const struct sl_sock *sk)
{
	return (const struct sl_udp_sock *)sk;
}

/* Has the next send make new headers: an option or a route that they hold has changed. Lane held.
 */
static inline void sl_sock_path_changed(struct sl_sock *sk)
{
	if (sl_sock_is_udp(sk))
		sl_udp_sk(sk)->path.d = NULL;
}
/* True: another program has the socket, too, and the kernel serves it meanwhile (lend.c). */
static inline bool sl_sock_is_lent(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sl_load(&sl_udp_sk_const(sk)->lent);
}
/* True: the socket is ours, but without claims: the kernel serves it as long as a rule says so, or
 * as long as it is lent. */
static inline bool sl_sock_is_ruled(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sl_load(&sl_udp_sk_const(sk)->ruled);
}
/* True: the bypass serves the socket. */
static inline bool sl_sock_is_served(const struct sl_sock *sk)
{
	return sl_load(&sk->state) == SL_STATE_OFFLOADED && !sl_sock_is_ruled(sk);
}
static inline bool sl_sock_is_connected_udp(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sl_udp_sk_const(sk)->udp.connected;
}

#endif
