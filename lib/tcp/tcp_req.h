/* SPDX-License-Identifier: BSD-2-Clause */
/* A request: a SYN that has been answered. Between tcp_listen.c and tcp_cookie.c. */
#ifndef SL_TCP_REQ_H
#define SL_TCP_REQ_H

#include "tcp/tcp_internal.h"

struct sl_tcp_req {
	struct sl_tcp_node node;
	struct sl_timer timer;
	struct sl_list link; /* in the listener's requests */
	struct sl_tcp_listener *l;
	struct sl_tcp_seg syn; /* the peer's */
	uint32_t iss, ts_off;
	uint32_t ts_recent;
	uint32_t rcv_wnd;
	uint16_t mss; /* ours */
	uint8_t rcv_wscale;
	uint8_t retries;
	bool held;      /* not answered yet: the listener holds its SYNs */
	bool acked;     /* the ACK came, but a child was not wanted yet */
	bool tfo_asked; /* the answer brings a Fast Open cookie */
	bool answered;  /* until its child is in the accept queue, or it is given up (tcp_dead.c) */
	uint64_t born_us;
	uint64_t answered_us; /* tcp_invalid_ratelimit */
};

_Static_assert(sizeof(struct sl_tcp_req) <= SL_TCP_REQ_BYTES, "its memory is the owner's");

bool sl_tcp_wants_ecn(const struct sl_tcp_seg *syn);
/* The answer to r's SYN: what both can do (RFC 9293 3.10.7.2, third). */
void sl_tcp_send_synack(struct sl_tcp_host *h, const struct sl_tcp_req *r, uint32_t tsval,
			void *from);

/* Answers r's SYN with a cookie; r->iss is it. */
void sl_tcp_cookie_send(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
			void *from);
/* Does the ACK bring a cookie of ours back? Then *syn is the SYN as it was. */
bool sl_tcp_cookie_take(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
			const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
			struct sl_tcp_seg *syn);

#endif
