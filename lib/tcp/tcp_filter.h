/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter in front of a connection's receive queue: its owner looks at each piece before it may be
 * read (tcp_filter.c). Pieces that it has not seen are at the end of the queue. Call with the lane
 * held. */
#ifndef SL_TCP_FILTER_H
#define SL_TCP_FILTER_H

#include "tcp/tcp_conn.h"

/* The data in the queue, and all that come, wait for sl_tcp_pass(). Does nothing when there is a
 * filter already. */
void sl_tcp_filter(struct sl_tcp *c);
/* Copies up to max of the oldest pieces that the filter has not seen; returns how many. *before:
 * the pieces in front of them. While there is an urgent mark the filter sees nothing: what is in
 * the queue passes. */
unsigned sl_tcp_unseen_pieces(struct sl_tcp *c, struct sl_rxseg *to, unsigned max,
			      uint32_t *before);
/* The next n bytes that the filter has not seen may be read from now on. */
void sl_tcp_pass(struct sl_tcp *c, uint32_t n);
/* Takes those n bytes off the queue as read. They must lie in one piece, as sl_tcp_unseen_pieces()
 * told. False: they stay, since the connection is on its way to the kernel, an urgent mark is among
 * what may be read, or memory is short. */
bool sl_tcp_cut(struct sl_tcp *c, uint32_t n);

/* Bytes of the queue that the filter has let pass; of a connection without one all. */
static inline uint32_t sl_tcp_passed(const struct sl_tcp *c)
{
	return sl_likely(!c->filtered) ? c->rx_bytes : c->pass_seq - c->copied_seq;
}
/* Bytes that the filter has not seen. */
static inline uint32_t sl_tcp_unseen(const struct sl_tcp *c)
{
	return c->rx_bytes - sl_tcp_passed(c);
}

#endif
