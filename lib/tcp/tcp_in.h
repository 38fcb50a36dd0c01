/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment that arrives: shared by tcp_in.c (first to fifth step) and tcp_text.c (sixth to
 * eighth). */
#ifndef SL_TCP_IN_H
#define SL_TCP_IN_H

#include "tcp/tcp_internal.h"

/* A segment on its way through the steps. Each step cuts off what it has used. */
struct sl_tcp_arrival {
	const struct sl_tcp_seg *seg;
	uint32_t seq;
	uint32_t frame;
	uint16_t off, len;
	bool fin;
	bool kept; /* the receive queue has taken the frame */
	void *from;
};

/* End of the receive window. */
static inline uint32_t sl_tcp_window_end(const struct sl_tcp *c)
{
	uint32_t end = c->rcv_wup + c->rcv_wnd;

	return sl_seq_gt(end, c->rcv_nxt) ? end : c->rcv_nxt;
}

/* Sends an ACK at once for data that we already had or cannot take; reports [seq, end) as DSACK. */
void sl_tcp_ack_again(struct sl_tcp *c, uint32_t seq, uint32_t end);

/* The steps from the sixth on. May end the connection: do not use c afterwards. */
void sl_tcp_text_and_fin(struct sl_tcp *c, struct sl_tcp_arrival *a);

#endif
