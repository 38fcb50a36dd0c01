/* SPDX-License-Identifier: BSD-2-Clause */
/* Marked pieces, for tcp_rack.c (tcp_marks.c). */
#ifndef SL_TCP_MARKS_H
#define SL_TCP_MARKS_H

#include "tcp/tcp_conn.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"

static inline uint32_t piece_end(const struct sl_txseg *p)
{
	return p->seq + p->len + !!(p->flags & SL_TCP_FIN);
}

/* The first sent piece that ends after seq, or tx_nxt. */
static inline uint32_t find_piece(const struct sl_tcp *c, uint32_t seq)
{
	uint32_t lo = c->tx_una, n = c->tx_nxt - c->tx_una;

	while (n) {
		uint32_t half = n / 2;

		if (sl_seq_gt(piece_end(sl_tcp_piece(c, lo + half)), seq)) {
			n = half;
		} else {
			lo += half + 1;
			n -= half + 1;
		}
	}
	return lo;
}

static inline uint32_t elapsed_us(const struct sl_tcp *c, uint64_t since_us)
{
	uint64_t d = c->host->now_us - since_us;

	if (sl_likely(d < UINT32_MAX))
		return (uint32_t)d;
	return (int64_t)d < 0 ? 0 : UINT32_MAX; /* a NIC that paces was faster than its rate */
}

/* Index a lies before b in the queue. */
static inline bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* The first piece from i on that is not SACKED, or tx_nxt. */
uint32_t sl_tcp_past_sacked(const struct sl_tcp *c, uint32_t i);
/* The piece that was sent again longest ago, and whose copy is in flight, or tx_nxt. The next call
 * tells the next one, once this is marked as lost. */
uint32_t sl_tcp_oldest_copy(struct sl_tcp *c);

#endif
