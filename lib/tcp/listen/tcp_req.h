/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests: handshakes for which only the peer's SYN came (tcp_req.c). */
#ifndef SL_TCP_REQ_H
#define SL_TCP_REQ_H

#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_int.h"

/* Bytes of the Fast Open cookies that we make. */
#define SL_TCP_TFO_COOKIE 8u

struct sl_tcp_req {
	struct sl_tcp_node node;
	struct sl_timer timer;
	struct sl_list link; /* in the listener's requests */
	struct sl_tcp_listener *l;
	struct sl_tcp_seg syn; /* the peer's, without the options that we do not support */
	uint32_t iss, ts_off;
	uint32_t ts_recent;
	uint32_t rcv_wnd;
	uint32_t scope; /* sl_tcp_ops.scope() of the SYN */
	uint16_t mss;   /* the one we announce */
	uint8_t rcv_wscale;
	uint8_t retries;
	bool held : 1;      /* not answered yet, because the listener holds its SYNs */
	bool acked : 1;     /* the ACK came, but no child was wanted yet */
	bool tfo_asked : 1; /* the SYN-ACK must carry a Fast Open cookie */
	bool route_ecn : 1, route_tfo : 1; /* of sl_route_tcp: ecn, tfo_no_cookie */
	uint8_t stuck;                     /* times in a row that the SYN-ACK could not be sent */
	bool answered; /* true from the first SYN-ACK until the child is in the accept queue or the
			  request is given up (tcp_dead.c) */
	uint64_t born_us;
	uint64_t answered_us; /* time of the last limited answer (tcp_invalid_ratelimit), 0: none */
};

_Static_assert(sizeof(struct sl_tcp_req) <= SL_TCP_REQ_BYTES, "its memory is the owner's");

/* Fills r from the peer's SYN and with our own values. */
void sl_tcp_req_fill(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *syn, void *from);
/* Allocates a copy of `filled`, in the table and the listener's list; NULL: no memory. */
struct sl_tcp_req *sl_tcp_req_add(struct sl_tcp_host *h, const struct sl_tcp_req *filled);
/* Sends the SYN-ACK and arms the timer that repeats it. */
void sl_tcp_req_answer_syn(struct sl_tcp_host *h, struct sl_tcp_req *r);
/* True: the SYN asks for ECN, and we accept it. */
bool sl_tcp_wants_ecn(const struct sl_tcp_req *r);
/* Sends the SYN-ACK to r's SYN, with the options that both support (RFC 9293 3.10.7.2, third). */
void sl_tcp_send_synack(struct sl_tcp_host *h, const struct sl_tcp_req *r, uint32_t tsval,
			void *from);
/* RFC 7413 4.1.2: the cookie depends on the client's address only, so all its ports may use it. */
void sl_tcp_tfo_cookie(struct sl_tcp_host *h, struct sl_tcp_listener *l,
		       const struct sl_tcp_key *key, uint8_t cookie[SL_TCP_TFO_COOKIE]);
/* By which of l's keys the SYN's cookie is: 1 is the first. 0: by none. */
unsigned sl_tcp_tfo_key_of(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			   const struct sl_tcp_key *key, const struct sl_tcp_seg *syn);
/* Handles a segment for the request n. The ACK that ends the handshake makes a child of it. n may
 * be gone afterwards. True: the frame was kept. */
bool sl_tcp_req_input(struct sl_tcp_host *h, struct sl_tcp_node *n, struct sl_tcp_arrival *a);
/* Call when r's timer fires: sends the SYN-ACK again, or gives the request up. */
void sl_tcp_req_timer(struct sl_tcp_host *h, struct sl_tcp_node *n);
/* Removes n from the table and its listener, and frees it. */
void sl_tcp_req_free(struct sl_tcp_host *h, struct sl_tcp_node *n);

#endif
