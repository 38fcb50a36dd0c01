/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket is a kernel socket (the shadow, whose descriptor the program holds) and, while it is
 * offloaded, a place on a lane, a receive queue and claims on packets. */
#ifndef SL_SOCK_H
#define SL_SOCK_H

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/list.h"
#include "ctl/device/claim_req.h"
#include "sock/proc/fdtab.h"
#include "sock/core/ready.h"
#include "sock/core/sock_flags.h"
#include "sock/core/shadow.h"
#include "sock/proc/up.h"
#include "stack/lane.h"
#include "tcp/tcp.h"
#include "udp/udp.h"

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

/* A claim that the broker holds for us. */
struct sl_sock_claim {
	struct sl_sock_claim *next;
	uint64_t born; /* order of claims */
	struct sl_claim_req req;
};

#define SL_NO_SLOT UINT32_MAX

struct sl_errq;
struct sl_member;
struct sl_tconn;
struct sl_tlisten;

/* The phase that connect(2) looks at, beside the connection's own state (the kernel's
 * socket_state). */
enum sl_sock_phase {
	SL_UNCONNECTED,
	SL_CONNECTING,
	SL_CONNECTED,
	SL_STAYING, /* a closed listener that still finishes handshakes (listen/stay.c) */
};

/* A TCP socket's object ends where UDP's part begins (table.c has a slab for each kind): code for
 * sockets of both kinds must look at proto before it reads UDP's fields. */
struct sl_sock {
	/* Always valid, even when the object is reused: a thread that still holds a pointer to it
	 * may be about to take the lane, to count, or to read proto. */
	struct sl_lane *lane;        /* never NULL; sl_limbo while it is on none */
	struct sl_sock_stats *stats; /* never NULL; those of its last life until it has its own */
	struct sl_errq *errq;        /* errq.h; stays with the object, NULL: it never had one */
	uint32_t gen;                /* raised when the object is used for another socket */
	uint8_t proto;               /* IPPROTO_UDP, IPPROTO_TCP */

	/* fields that every call reads */
	uint8_t state;          /* enum sl_stat_state */
	uint8_t family;         /* AF_INET, AF_INET6 */
	bool nonblock;          /* O_NONBLOCK */
	int fd;                 /* the shadow */
	uint16_t want;          /* SL_WANT_*; TCP uses only the time stamps */
	uint8_t os;             /* SL_OS_*; atomic */
	uint8_t phase;          /* TCP: enum sl_sock_phase */
	uint8_t tos, ttl;       /* IPv4's; ttl 0: the route's or the system's */
	uint16_t pace_packet;   /* as pace_burst */
	uint32_t inode;         /* of the shadow */
	struct sl_list watches; /* struct sl_watch */
	uint64_t rcvtimeo_ns;   /* 0: none; or SL_TIMEO_NO_WAIT */

	/* TCP (tconn.h); the pointers change with the lane held */
	struct sl_tconn *conn;  /* NULL: no offloaded connection */
	struct sl_tlisten *lsn; /* NULL: no offloaded listener */
	uint64_t sndtimeo_ns;   /* 0: none; or SL_TIMEO_NO_WAIT */
	union {
		uint64_t opts; /* options that the program set: bits of tcp_opt.c's table */
		struct sl_sock *next_free;
	};
	uint32_t rcvlowat;
	int32_t linger_ms;  /* SO_LINGER; -1: off */
	int16_t error;      /* positive errno that a dissolved connection has left; taken once */
	uint16_t told_mss;  /* handed back: the MSS that its peer was told; 0: ask the kernel */
	uint8_t shut;       /* shutdown(2) while unconnected: RCV_SHUTDOWN 1, SEND_SHUTDOWN 2 */
	bool inq;           /* TCP_INQ */
	bool zerocopy;      /* SO_ZEROCOPY */
	bool tfo_connect;   /* TCP_FASTOPEN_CONNECT */
	bool tfo_no_cookie; /* TCP_FASTOPEN_NO_COOKIE */
	bool tfo_now;       /* connects by sendto(MSG_FASTOPEN); slow held */
	bool named;         /* bound by connect(2), not by the program */
	bool pace_three;    /* SO_MAX_PACING_RATE was set by a struct sl_rate_limit */
	uint32_t zc_next;   /* number of the next call with MSG_ZEROCOPY */
	uint32_t zc_done;   /* calls before it that are in the error queue */
	bool server : 1;    /* accepted by a listener */
	bool heir : 1;      /* a listener that several processes may serve together */
	bool parked : 1;    /* no number of the program's (heirs.c); slow held */
	bool has_old : 1;   /* children may have another file of it (heirs.c); slow held */
	bool taking;        /* take-over is under way */
	uint8_t tos6, ttl6; /* tos, ttl of IPv6 */
	uint32_t in_kernel; /* calls on it that are in the kernel now; atomic */

	/* names and claims; changed under `slow` */
	struct sl_lock slow;
	uint32_t mark;
	uint32_t unicast_oif;
	uint32_t bound_if;   /* SO_BINDTODEVICE */
	uint32_t pace_burst; /* burst that SO_MAX_PACING_RATE set last; 0: none */
	struct sl_addr local;
	uint32_t local_scope;
	uint16_t local_port; /* 0: not bound */
	bool v6only;
	bool bound_addr; /* bound to an address, not a wildcard */
	bool reuse : 1;  /* SO_REUSEADDR or SO_REUSEPORT */
	bool reuseport : 1;
	uint8_t pmtudisc : 3; /* IP_MTU_DISCOVER */
	bool own_ports;       /* IP_LOCAL_PORT_RANGE was set */
	uint8_t passed;       /* the parent's sl_keeper_generation(); 0: not a parent's socket */
	uint8_t given;        /* made by another program: so often it will be tried to take it; or
			       * SL_GIVEN_LATER, less what it has been used since */
	uint32_t forks;       /* sl_forks when the socket was made */
	uint32_t nfds;
	uint32_t slot;
	struct sl_sock_claim *claims;

	/* UDP: receive */
	struct sl_udp udp;
	uint32_t os_hot;   /* polls of the kernel left: it had data lately */
	uint32_t os_count; /* empty polls since the kernel was asked */
	uint8_t os_turn;   /* whether we or the kernel are next when both have data */
	bool os_first;     /* just claimed: the kernel's datagrams are older than ours */

	/* UDP: send */
	uint32_t stamps;        /* stamps wanted for each message, SOF_TIMESTAMPING_TX_* */
	bool tx_blocked;        /* a send found no room: EPOLLOUT is owed; lane held */
	uint32_t wmem;          /* bytes that are on a transmit ring; atomic */
	struct sl_pacer *pacer; /* for SO_MAX_PACING_RATE; NULL: not set; lane held */
	struct sl_list blocked; /* in the lane's or the pacer's list of blocked senders */
	struct sl_path path;
	/* Settings that take every send off the fast path; tx_odd is nearly always 0. */
	union {
		struct {
			uint16_t gso_size; /* UDP_SEGMENT, 0: off */
			bool no_csum, no_csum6;
			bool tx_shut;
			bool cork;      /* UDP_CORK: the kernel collects, until that ends */
			bool more;      /* the last had MSG_MORE: the kernel has its beginning */
			uint8_t behind; /* the kernel sent the last, and may have it still: for so
					   many it is looked for */
		};
		uint64_t tx_odd;
	};
	uint16_t ip_id;
	uint8_t mc_ttl;
	bool mc_loop;
	bool mc_all;           /* IP_MULTICAST_ALL */
	uint32_t mc_oif;       /* IP(V6)_MULTICAST_IF */
	struct sl_addr mc_src; /* source address that IP_MULTICAST_IF set */
	uint32_t sndbuf;
	struct sl_member *members; /* multicast memberships */
};

static inline bool sl_sock_is_udp(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_UDP;
}
static inline bool sl_sock_stays(const struct sl_sock *sk)
{
	return sk->phase == SL_STAYING && sk->proto == IPPROTO_TCP;
}
/* The TOS and TTL of packets to that address: IPv4's or IPv6's. */
static inline uint8_t sl_sock_tos(const struct sl_sock *sk, const struct sl_addr *to)
{
	return sl_addr_is_v4(to) ? sk->tos : sk->tos6;
}
static inline uint8_t sl_sock_ttl(const struct sl_sock *sk, const struct sl_addr *to)
{
	return sl_addr_is_v4(to) ? sk->ttl : sk->ttl6;
}
/* ip_dont_fragment() (include/net/ip.h). */
static inline bool sl_sock_dont_fragment(const struct sl_sock *sk)
{
	return sk->pmtudisc == IP_PMTUDISC_WANT || sk->pmtudisc == IP_PMTUDISC_DO;
}
/* Datagrams in our own receive queue; the kernel's queue is not counted. */
static inline uint32_t sl_sock_queued(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) ? sl_udp_queued(&sk->udp) : 0;
}
/* Has the next send make new headers: an option or a route that they hold has changed. Lane held.
 */
static inline void sl_sock_path_changed(struct sl_sock *sk)
{
	if (sl_sock_is_udp(sk))
		sk->path.d = NULL;
}
static inline bool sl_sock_is_connected_udp(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sk->udp.connected;
}

/* Locks the socket's lane. False: a signal handler interrupted our own turn; use the kernel. */
static inline bool sl_sock_lock(struct sl_sock *sk, struct sl_lane **lane)
{
	for (;;) {
		struct sl_lane *l = sl_load_acquire(&sk->lane);

		if (sl_unlikely(!sl_lane_lock(l)))
			return false;
		if (sl_likely(l == sl_load(&sk->lane))) {
			*lane = l;
			return true;
		}
		sl_lane_unlock(l);
	}
}

/* The shadow's descriptor that the program first got; for sleeping on it and for the kernel. */
int sl_sock_shadow(const struct sl_sock *sk);
/* The lane it is on, NULL while it is on none (new, or the kernel's). May change; re-read. */
struct sl_lane *sl_sock_lane(const struct sl_sock *sk);
/* True: fd still means this socket. (It may have been closed meanwhile.) */
bool sl_sock_is(const struct sl_sock *sk, int fd);

#endif
