/* SPDX-License-Identifier: BSD-2-Clause */
/* A request: a SYN that has been answered; and the child that is made of it. Between tcp_listen.c,
 * tcp_req.c, tcp_child.c and tcp_cookie.c. */
#ifndef SL_TCP_REQ_H
#define SL_TCP_REQ_H

#include "tcp/tcp_internal.h"

#define SL_TCP_TFO_COOKIE 8u

struct sl_tcp_req {
	struct sl_tcp_node node;
	struct sl_timer timer;
	struct sl_list link; /* in the listener's requests */
	struct sl_tcp_listener *l;
	struct sl_tcp_seg syn; /* the peer's */
	uint32_t iss, ts_off;
	uint32_t ts_recent;
	uint32_t rcv_wnd;
	uint32_t scope; /* sl_tcp_ops.scope() of the SYN */
	uint16_t mss;   /* ours */
	uint8_t rcv_wscale;
	uint8_t retries;
	bool held : 1;      /* not answered yet: the listener holds its SYNs */
	bool acked : 1;     /* the ACK came, but a child was not wanted yet */
	bool tfo_asked : 1; /* the answer brings a Fast Open cookie */
	uint8_t stuck;      /* so often in a row there was no way for the SYN-ACK */
	bool answered; /* until its child is in the accept queue, or it is given up (tcp_dead.c) */
	uint64_t born_us;
	uint64_t answered_us; /* tcp_invalid_ratelimit */
};

_Static_assert(sizeof(struct sl_tcp_req) <= SL_TCP_REQ_BYTES, "its memory is the owner's");

/* What is ours, and the peer's SYN. */
void sl_tcp_req_fill(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *syn, void *from);
/* Into the table and the SYN queue; NULL: no memory. */
struct sl_tcp_req *sl_tcp_req_add(struct sl_tcp_host *h, const struct sl_tcp_req *filled);
/* Sends the SYN-ACK, and arms the timer that repeats it. */
void sl_tcp_req_answer_syn(struct sl_tcp_host *h, struct sl_tcp_req *r);
bool sl_tcp_wants_ecn(const struct sl_tcp_seg *syn);
/* The answer to r's SYN: what both can do (RFC 9293 3.10.7.2, third). */
void sl_tcp_send_synack(struct sl_tcp_host *h, const struct sl_tcp_req *r, uint32_t tsval,
			void *from);

/* RFC 7413 4.1.2: for the client's address, so that it is good for all its ports. */
void sl_tcp_tfo_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		       uint8_t cookie[SL_TCP_TFO_COOKIE]);

/* A child in SYN_RCVD, in the table (r is not) and in the accept queue. NULL: no memory. */
struct sl_tcp *sl_tcp_child_new(struct sl_tcp_host *h, const struct sl_tcp_req *r);
/* The child takes the ACK that made it, data included. True: the frame is kept. */
bool sl_tcp_child_begin(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp *c,
			const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off, void *from);
void sl_tcp_child_drop(struct sl_tcp_host *h, struct sl_tcp *c);
bool sl_tcp_is_accept_full(const struct sl_tcp_listener *l);
void sl_tcp_accept_overflow(struct sl_tcp_host *h); /* counts it */

/* Answers r's SYN with a cookie; r->iss is it. */
void sl_tcp_cookie_send(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
			void *from);
/* Does the ACK bring a cookie of ours back? Then *syn is the SYN as it was. */
bool sl_tcp_cookie_take(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
			const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
			struct sl_tcp_seg *syn);

#endif
