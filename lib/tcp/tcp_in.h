/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment arrives (tcp_in.c). */
#ifndef SL_TCP_IN_H
#define SL_TCP_IN_H

#include "tcp/tcp.h"

/* A received segment on its way through the steps of RFC 9293 3.10.7. Each step cuts off what it
 * has used. Made by sl_tcp_arrival(). */
struct sl_tcp_arrival {
	const struct sl_tcp_seg *seg; /* as it came */
	uint32_t seq;                 /* of what is left of its text */
	uint32_t frame;
	uint16_t off, len; /* the text in the frame */
	bool fin;
	bool kept;          /* the receive queue has taken the frame */
	struct sl_run *run; /* what follows it (net/run.h); NULL: nothing */
	void *from;         /* opaque, for ops->scope */
};

/* off: the payload's in the frame. Inline: the caller makes it once, and it is passed on. */
static inline struct sl_tcp_arrival sl_tcp_arrival(const struct sl_tcp_seg *seg, uint32_t frame,
						   uint16_t off, void *from)
{
	return (struct sl_tcp_arrival){
		.seg = seg,
		.seq = seg->seq,
		.frame = frame,
		.off = off,
		.len = seg->len,
		.fin = seg->flags & SL_TCP_FIN,
		.from = from,
	};
}

/* Handles a received segment for key (local is ours). l: the listener on the local port number, or
 * NULL. The table decides: connection, request, TIME_WAIT, else the listener, else a reset (RFC
 * 9293 3.10.7). True: the frame was kept (the caller's reference is then the core's). */
bool sl_tcp_input(struct sl_tcp_host *h, const struct sl_tcp_key *key, struct sl_tcp_listener *l,
		  struct sl_tcp_arrival *a);
/* Like sl_tcp_input(), when the connection is known already (by the steering program's slot). */
bool sl_tcp_conn_input(struct sl_tcp *c, struct sl_tcp_arrival *a);
/* The connection with that key. NULL also for requests and TIME_WAIT. */
struct sl_tcp *sl_tcp_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* True: the table has a connection, request or TIME_WAIT with that key. */
bool sl_tcp_knows(struct sl_tcp_host *h, const struct sl_tcp_key *key);

/* The error that a program is told when the connection is reset in its present state. */
int sl_tcp_reset_error(const struct sl_tcp *c);

#endif
