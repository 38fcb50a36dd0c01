/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment that arrives: what tcp_in.c (first to fifth step) and tcp_text.c (sixth to eighth)
 * share. */
#ifndef SL_TCP_IN_H
#define SL_TCP_IN_H

#include "tcp/tcp_internal.h"

/* A segment on its way through the steps. What was used of it is cut off. */
struct sl_tcp_arrival {
	const struct sl_tcp_seg *seg;
	uint32_t seq;
	uint32_t frame;
	uint16_t off, len;
	bool fin;
	bool kept; /* the frame is the receive queue's */
	void *from;
};

/* The end of what the peer may send. */
static inline uint32_t sl_tcp_window_end(const struct sl_tcp *c)
{
	uint32_t end = c->rcv_wup + c->rcv_wnd;

	return sl_seq_gt(end, c->rcv_nxt) ? end : c->rcv_nxt;
}

/* An ACK at once for what we had already, or cannot take; [seq, end) goes into the DSACK. */
void sl_tcp_ack_again(struct sl_tcp *c, uint32_t seq, uint32_t end);

/* The steps from the sixth on. It may have ended the connection: nobody touches c after it. */
void sl_tcp_text_and_fin(struct sl_tcp *c, struct sl_tcp_arrival *a);

#endif
