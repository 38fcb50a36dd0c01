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

/* A claim that the broker holds for us. */
struct sl_sock_claim {
	struct sl_sock_claim *next;
	uint64_t born; /* order of claims */
	struct sl_claim_req req;
};

#define SL_NO_SLOT UINT32_MAX

struct sl_errq;
struct sl_tconn;
struct sl_tlisten;

/* The phase that connect(2) looks at, beside the connection's own state (the kernel's
 * socket_state). */
enum sl_sock_phase {
	SL_UNCONNECTED,
	SL_CONNECTING,
	SL_CONNECTED,
	SL_DISCONNECTING, /* shut down after connect(2) had failed and no call had said so */
	SL_STAYING,       /* a closed listener that still finishes handshakes (listen/stay.c) */
};

/* The part that all sockets have, and all of a TCP socket; udp_sock.h has the rest of a UDP socket.
 */
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
	int32_t linger_ms; /* SO_LINGER; -1: off */
	int16_t error; /* positive errno: a dissolved connection or recvmmsg(2) left it; taken once
			*/
	uint16_t told_mss; /* handed back: the MSS that its peer was told; 0: ask the kernel */
	uint8_t shut;      /* shutdown(2) while unconnected: RCV_SHUTDOWN 1, SEND_SHUTDOWN 2 */
	bool inq;          /* TCP_INQ */
	bool zerocopy;     /* SO_ZEROCOPY */
	/* All in one byte: lane held. */
	bool tfo_connect : 1;   /* TCP_FASTOPEN_CONNECT */
	bool tfo_no_cookie : 1; /* TCP_FASTOPEN_NO_COOKIE */
	bool reuse_addr : 1;    /* SO_REUSEADDR */
	uint8_t cc : 3;         /* TCP_CONGESTION that the kernel has not got (tcp_cc.c); 0: none */
	bool deaf6 : 1; /* TCP over IPv6 believes no router's MTU: IPV6_PMTUDISC_INTERFACE, OMIT */
	bool tfo_now;   /* connects by sendto(MSG_FASTOPEN); slow held */
	bool named : 1; /* bound by connect(2), not by the program */
	bool any_port : 1;   /* bound by the program, which left the port to the kernel */
	bool port_over : 1;  /* that port has ended with a connection; slow held */
	bool late : 1;       /* a listener without claims: a device is being opened; slow held */
	bool pace_three : 1; /* SO_MAX_PACING_RATE was set by a struct sl_rate_limit */
	uint8_t sleepers;   /* threads that sleep in a call on it (block.c), 255: or more; atomic */
	uint8_t prio;       /* SO_PRIORITY, which IP_TOS sets, too (sl_sock_read_prio()) */
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
	bool foreign : 1;     /* made by another program (given.c): its options say nothing */
	bool reuse_prog : 1;  /* a BPF program chooses in its SO_REUSEPORT group (reuseprog.c) */
	bool awaited : 1;     /* parked, since threads sleep in calls on it */
	uint8_t pmtudisc : 3; /* IP_MTU_DISCOVER */
	bool own_ports : 1;   /* IP_LOCAL_PORT_RANGE was set */
	uint8_t lane_was : 7; /* handed back: its lane, counted from 1; 0: none, or the last */
	uint8_t passed;       /* the parent's sl_keeper_generation(); 0: not a parent's socket */
	uint8_t given;        /* made by another program: so often it will be tried to take it; or
			       * SL_GIVEN_LATER, less what it has been used since */
	uint32_t forks;       /* sl_forks when the socket was made */
	uint32_t nfds;
	uint32_t slot;
	struct sl_sock_claim *claims;
};

static inline bool sl_sock_is_udp(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_UDP;
}
static inline bool sl_sock_stays(const struct sl_sock *sk)
{
	return sk->phase == SL_STAYING && sk->proto == IPPROTO_TCP;
}
/* Takes the error that connect(AF_UNSPEC) or recvmmsg(2) has left: a positive errno; later calls
 * return 0. */
static inline int sl_sock_kept_error(struct sl_sock *sk)
{
	return sl_likely(!sl_load(&sk->error))
		       ? 0
		       : __atomic_exchange_n(&sk->error, 0, __ATOMIC_RELAXED);
}
/* True: what a call gives is known to this process alone, not to the kernel's socket. */
static inline bool sl_sock_is_apart(const struct sl_sock *sk)
{
	uint8_t state = sl_load(&sk->state);

	return state == SL_STATE_OFFLOADED || (state == SL_STATE_NEW && sl_load(&sk->error));
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
