/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment on its way through the steps of RFC 9293 3.10.7: shared by tcp_in.c (first to fifth
 * step), tcp_text.c (sixth to eighth), and the files that make a connection of a segment. */
#ifndef SL_TCP_ARRIVAL_H
#define SL_TCP_ARRIVAL_H

#include "tcp/tcp_in.h"
#include "tcp/tcp_int.h"

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
/* sl_tcp_conn_input() without counting the segment in TcpInSegs. */
bool sl_tcp_arrives(struct sl_tcp *c, struct sl_tcp_arrival *a);
/* Takes the initial sequence number, the window and the options of the peer's SYN. */
void sl_tcp_take_syn(struct sl_tcp *c, const struct sl_tcp_seg *syn);
/* Enters ESTABLISHED: both SYNs are acknowledged. seq: becomes SND.WL1. */
void sl_tcp_established(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t seq);
/* Answers a segment that belongs to no connection with a reset (RFC 9293 3.10.7.1). */
void sl_tcp_reset_reply(struct sl_tcp_host *h, const struct sl_tcp_key *key,
			const struct sl_tcp_seg *seg, void *from);
/* Sends a challenge ACK (RFC 5961 5, 7); rate-limited. */
void sl_tcp_challenge_ack(struct sl_tcp *c);

#endif
