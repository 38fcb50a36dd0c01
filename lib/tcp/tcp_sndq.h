/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue (tcp_sndq.c). */
#ifndef SL_TCP_SNDQ_H
#define SL_TCP_SNDQ_H

#include "tcp/tcp_conn.h"

void sl_tcp_queue_fin(struct sl_tcp *c);
void sl_tcp_snd_free(struct sl_tcp *c);
/* Drops everything below ack from the queue; returns the number of whole pieces. */
uint32_t sl_tcp_snd_drop(struct sl_tcp *c, uint32_t ack);

/* Splits the piece at i after len bytes (mss has shrunk, partial window). If it was at tx_nxt, it
 * still is, but tx_nxt and tx_una may be other indexes now. */
bool sl_tcp_snd_split(struct sl_tcp *c, uint32_t i, uint16_t len);
void sl_tcp_mss_changed(struct sl_tcp *c);
void sl_tcp_sndbuf_grow(struct sl_tcp *c);
static inline uint32_t sl_tcp_pieces_out(const struct sl_tcp *c)
{
	return c->tx_nxt - c->tx_una;
}

/* RFC 6675 "pipe", in pieces. */
static inline uint32_t sl_tcp_in_flight(const struct sl_tcp *c)
{
	return sl_tcp_pieces_out(c) - c->sacked_out - c->lost_out + c->retx_out;
}
static inline struct sl_txseg *sl_tcp_piece(const struct sl_tcp *c, uint32_t i)
{
	return &c->tx[i & (c->txsize - 1)];
}

#endif
