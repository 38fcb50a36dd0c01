/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP (RFC 9293) as a state machine: segments, calls and time go in, segments and events come out.
 * It does no I/O, takes no lock and reads no clock: the caller holds the host (a lane) and has set
 * host->now_us. It uses frames (io/frame.h) as memory for its queues and knows nothing of sockets.
 *
 * Objects: a *host* holds the state that the connections of one lane share. A *connection* (struct
 * sl_tcp) is embedded in an object of the caller (a socket, a simulator's). A *request* is a
 * handshake for which only a SYN came; requests and TIME_WAIT are small records of the host. A
 * *listener* has requests, and children that wait to be accepted. */
#ifndef SL_TCP_H
#define SL_TCP_H

#include "base/addr.h"
#include "base/base.h"
#include "wire/tcp_seg.h"

struct sl_tcp;
struct sl_tcp_host;
struct sl_tcp_listener;

/* Linux' numbers, since TCP_INFO and /proc show them. */
enum sl_tcp_state {
	SL_TCP_ESTABLISHED = 1,
	SL_TCP_SYN_SENT,
	SL_TCP_SYN_RCVD,
	SL_TCP_FIN_WAIT1,
	SL_TCP_FIN_WAIT2,
	SL_TCP_TIME_WAIT,
	SL_TCP_CLOSED,
	SL_TCP_CLOSE_WAIT,
	SL_TCP_LAST_ACK,
	SL_TCP_LISTEN,
	SL_TCP_CLOSING,
};

/* RFC 9293 3.3.2: both sides' sequence numbers are known. TIME_WAIT is a record, no connection. */
static inline bool sl_tcp_is_synchronised(uint8_t state)
{
	switch (state) {
	case SL_TCP_ESTABLISHED:
	case SL_TCP_FIN_WAIT1:
	case SL_TCP_FIN_WAIT2:
	case SL_TCP_CLOSE_WAIT:
	case SL_TCP_LAST_ACK:
	case SL_TCP_CLOSING:
		return true;
	}
	return false;
}

/* Addresses of a connection; IPv4 as ::ffff:a.b.c.d. Port numbers in host order. */
struct sl_tcp_key {
	struct sl_addr local, remote;
	uint16_t lport, rport;
};

/* size of struct sl_tcp_key in 32-bit words */
#define SL_TCP_KEY_WORDS 9

static inline bool sl_tcp_key_eq(const struct sl_tcp_key *a, const struct sl_tcp_key *b)
{
	return a->lport == b->lport && a->rport == b->rport && sl_addr_eq(&a->remote, &b->remote) &&
	       sl_addr_eq(&a->local, &b->local);
}

/* An entry of the host's table, found by its key: a connection, a request or a TIME_WAIT.
 * (SL_TCP_LATE is in no table: tcp_late.c.) */
enum sl_tcp_kind { SL_TCP_CONN, SL_TCP_REQ, SL_TCP_TW, SL_TCP_LATE };
struct sl_tcp_node {
	struct sl_tcp_node *next;
	struct sl_tcp_key key;
	uint8_t kind;  /* enum sl_tcp_kind */
	bool hashed;   /* is in the table */
	uint8_t bound; /* SL_TCP_BOUND_*, for bind(2) of another socket to key.lport */
};
#define SL_TCP_BOUND_REUSE_ADDR 1u /* SO_REUSEADDR */
#define SL_TCP_BOUND_REUSE_PORT 2u /* SO_REUSEPORT */
#define SL_TCP_BOUND_REUSE      (SL_TCP_BOUND_REUSE_ADDR | SL_TCP_BOUND_REUSE_PORT)
#define SL_TCP_BOUND_V6ONLY     4u /* IPV6_V6ONLY, or bound to an address of IPv6 */

/* Events that a connection reports to its owner (sl_tcp_ops.event), combined as bits. */
#define SL_TCP_EV_CONNECTED (1u << 0) /* our connect() has succeeded */
#define SL_TCP_EV_IN        (1u << 1) /* data, or their end, can be read now */
#define SL_TCP_EV_OUT       (1u << 2) /* room in the send queue again, after there was none */
#define SL_TCP_EV_URG       (1u << 3) /* a new urgent pointer came (SIGURG, EPOLLPRI) */
#define SL_TCP_EV_RDHUP     (1u << 4) /* FIN came */
#define SL_TCP_EV_ERROR     (1u << 5) /* c->error: reset, timed out, unreachable */
#define SL_TCP_EV_SENT      (1u << 6) /* snd_una has moved (MSG_ZEROCOPY, SIOCOUTQ waiters) */
#define SL_TCP_EV_CLOSED                                                                           \
	(1u << 7) /* c is CLOSED and has left the host; the last event. If c->orphan is set, the   \
		     owner calls sl_tcp_fini() now and frees c */

struct sl_route_tcp; /* net/route.h */
/* TCP's view of a route. */
struct sl_tcp_route {
	uint16_t mss;     /* largest to send: device MTU less IP and TCP header, without options */
	uint16_t adv_mss; /* MSS to announce */
	bool mtu_locked;  /* no router's report makes the path's MTU smaller */
	const struct sl_route_tcp *tcp; /* valid until the next call; NULL: the route sets none */
};

#define SL_TFO_LOST  1u /* only a SYN without option and data was answered */
#define SL_TFO_ASKED 2u /* the SYN that was answered asked for a cookie */

/* Callbacks of the core. Each is called with the host held; none may call back into the connection,
 * except for sl_tcp_fini() at SL_TCP_EV_CLOSED. */
struct sl_tcp_ops {
	/* Sends a segment of c. Its payload is seg->len bytes at off in frame (SL_NO_FRAME: none),
	 * psum is the sum of their checksum. The frame belongs to the core: a callback that needs
	 * it longer adds a reference. If off is above SL_TCP_HEADROOM, other data lie in front of
	 * the payload and must not be overwritten. False: no room now (call sl_tcp_on_room()
	 * later). */
	bool (*send)(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		     uint64_t psum);
	/* Sends a segment that belongs to no connection (reset, SYN-ACK, challenge, TIME_WAIT):
	 * never has data, may be lost. l: the listener whose handshake it belongs to, or NULL.
	 * scope: that of the segment it answers. False: lost because there is no way to send it,
	 * but there may be one soon (the neighbour is being resolved). */
	bool (*reply)(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		      const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope);
	/* ifindex of the device that a segment came by, if the peer's address alone does not
	 * identify it (link-local addresses), else 0. from: opaque, as passed to the input
	 * function, not NULL. The callback may be NULL: there is only one device. */
	uint32_t (*scope)(const struct sl_tcp_key *key, const void *from);
	/* Reports events of c, SL_TCP_EV_*. */
	void (*event)(struct sl_tcp *c, uint32_t events);
	/* Asked while c->opts->nic is set. True: the NIC paces c; post the next segment at *at_us,
	 * which may be past. False: c must pace itself. NULL if no owner sets opts->nic. */
	bool (*paced)(struct sl_tcp *c, uint64_t *at_us);
	/* Allocates a connection for a completed handshake of l, or for a Fast Open SYN: zeroed
	 * memory with a struct sl_tcp, and the owner's own fields set. scope: that of the SYN.
	 * NULL: no memory (the segment is dropped). */
	struct sl_tcp *(*child_new)(struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				    uint32_t scope);
	/* Frees a child that could not be made or accepted. */
	void (*child_free)(struct sl_tcp *c);
	/* Allocate and free SL_TCP_REQ_BYTES for a request of l. NULL: no memory (the SYN is
	 * dropped). Both callbacks may be NULL: malloc(3) is used. */
	void *(*req_new)(struct sl_tcp_listener *l);
	void (*req_free)(void *r);
	/* Tells that a child has joined l's accept queue. */
	void (*accept_ready)(struct sl_tcp_listener *l);
	/* Tells that c has been quiet for a while: the owner may release what it holds for
	 * sending, until the next send(). May be NULL. Called only if send() has set c->awake. */
	void (*rest)(struct sl_tcp *c);
	/* The route for a key. c: the connection; NULL: a handshake of l with that scope. */
	struct sl_tcp_route (*route)(struct sl_tcp_host *h, const struct sl_tcp *c,
				     const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				     uint32_t scope);
	/* Reports the peer's answer to our Fast Open SYN: its MSS, and perhaps a cookie to keep
	 * for next time (one that nobody asked for is left out). how: SL_TFO_*. May be NULL. */
	void (*tfo_answer)(struct sl_tcp *c, const struct sl_tcp_seg *synack, unsigned how);
	/* Sets l->tfo_key and l->ntfo_keys, which a SYN with the Fast Open option needs; at most
	 * once a second for each listener. May be NULL: each host has a key of its own. */
	void (*tfo_keys)(struct sl_tcp_listener *l);
	/* Adds n to counter id (enum sl_tcp_count); the caller keeps the counters. */
	void (*count)(struct sl_tcp_host *h, unsigned id, uint32_t n);
};

/* Counters; stats.def lists them. */
enum sl_tcp_count {
#define SL_STAT(block, name, unit, help)
#define SL_TCP(id, name, unit, help) SL_TCPC_##id,
#include "base/stats.def"
#undef SL_STAT
	SL_TCPC_COUNT
};

#endif
