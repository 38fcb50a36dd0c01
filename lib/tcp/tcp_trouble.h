/* SPDX-License-Identifier: BSD-2-Clause */
/* State that a connection gets at its first loss, retransmission or reordering (tcp_conn.c). */
#ifndef SL_TCP_TROUBLE_H
#define SL_TCP_TROUBLE_H

#include "tcp/tcp_conn.h"
#include "tcp/tcp_params.h"

struct sl_tcp_board;

/* State needed only after a loss, retransmission or reordering. */
struct sl_tcp_trouble {
	/* the episode (RFC 5681, 6937, 3522): valid during it, or while its bit in struct sl_tcp is
	 * set */
	uint32_t prior_cwnd, prior_ssthresh;
	uint32_t prr_delivered, prr_out; /* RFC 6937 */
	uint32_t retrans_tsval; /* time stamp of the episode's first retransmission (Eifel) */
	uint32_t undo_marker;   /* snd_una when the window was reduced */
	int32_t undo_retrans;   /* retransmissions that no DSACK has reported yet; -1: nothing was
				   sent again */
	uint32_t rack_dsack_round;
	struct sl_tcp_board *board; /* tcp_rack.c's; NULL while nothing is missing */
	/* for TCP_INFO */
	uint32_t total_retrans, dsack_dups, reord_seen, rcv_ooopack;
	uint32_t delivered_ce; /* segments whose ACK echoed a congestion mark */
	uint32_t reordering;   /* most segments that one was overtaken by, in this connection or one
				before (tcp_metrics.c); 0: none was */
	uint32_t rwnd_limited, sndbuf_limited; /* units of 2^10 us (tcp_chrono.c) */
	uint64_t bytes_retrans;
	uint16_t total_rto; /* retransmission time-outs */
};

/* Allocates the record at the first need. Never NULL: without memory it is host->spare_trouble,
 * whose values are soon lost. */
struct sl_tcp_trouble *sl_tcp_trouble_new(struct sl_tcp *c);
static inline struct sl_tcp_trouble *sl_tcp_trouble(struct sl_tcp *c)
{
	return c->trouble ? c->trouble : sl_tcp_trouble_new(c);
}

/* NULL while nothing is missing. */
static inline struct sl_tcp_board *sl_tcp_board(const struct sl_tcp *c)
{
	return c->trouble ? c->trouble->board : NULL;
}

/* Number of segments that were sent again. */
static inline uint32_t sl_tcp_retransmitted(const struct sl_tcp *c)
{
	return c->trouble ? c->trouble->total_retrans : 0;
}

/* So many arrivals behind a missing segment tell of its loss, until reordering was seen: the
 * tcp_reordering of Linux, or what was overtaken before. */
static inline uint32_t sl_tcp_dup_thresh(const struct sl_tcp *c)
{
	uint32_t seen = c->trouble ? c->trouble->reordering : 0;

	return sl_max(seen, sl_tcp_params.reordering);
}

#endif
