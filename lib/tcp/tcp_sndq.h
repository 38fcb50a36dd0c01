/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue (tcp_sndq.c). */
#ifndef SL_TCP_SNDQ_H
#define SL_TCP_SNDQ_H

#include "tcp/tcp_conn.h"

/* Adds our FIN. Without memory it does nothing; sl_tcp_output() calls it again. */
void sl_tcp_queue_fin(struct sl_tcp *c);
/* Adds an empty, charged piece at the end of the queue; NULL: no memory. */
struct sl_txseg *sl_tcp_snd_new(struct sl_tcp *c);
/* Writes down in its frame where the piece's bytes are (struct sl_tcp_note). */
void sl_tcp_snd_note(const struct sl_tcp *c, const struct sl_txseg *s);
/* Gives the piece's frame back, if it has one. */
void sl_tcp_snd_put(struct sl_tcp *c, const struct sl_txseg *s);
/* Frees the queue and forgets what was in flight. */
void sl_tcp_snd_free(struct sl_tcp *c);
/* Drops all bytes below ack from the queue; returns the number of whole pieces dropped. */
uint32_t sl_tcp_snd_drop(struct sl_tcp *c, uint32_t ack);

/* Splits the piece at i after len bytes (the MSS has shrunk, or the window is open for a part).
 * Both halves have the first one's marks. If it was at tx_nxt, it still is, but tx_nxt and tx_una
 * may be other indexes now. False: no memory. */
bool sl_tcp_snd_split(struct sl_tcp *c, uint32_t i, uint16_t len);
/* Makes the piece at tx_nxt, which was never sent, len bytes long, of its own bytes or with those
 * of the next ones. tx_nxt and tx_una may be other indexes now. False: too few bytes, no memory, or
 * a mark between them. Nothing is sent again or SACKED meanwhile. */
bool sl_tcp_snd_join(struct sl_tcp *c, uint16_t len);
/* Joins short pieces that were sent, so that few segments send them again
 * (tcp_retrans_try_collapse() of Linux). Pieces that are SACKED, lost, or were sent again stay as
 * they are. tx_una may be another index now. */
void sl_tcp_snd_pack(struct sl_tcp *c);
/* Computes c->mss anew after one of its limits has changed; pieces that are too long now count as
 * lost. */
void sl_tcp_mss_changed(struct sl_tcp *c);
/* The longest segment that the peer, the path and a frame have room for, with its options. */
uint32_t sl_tcp_mss_limit(const struct sl_tcp *c);
/* Marks pieces under way that are longer than c->mss as lost, but not by congestion. */
void sl_tcp_lose_too_long(struct sl_tcp *c);
/* Grows sndbuf with the window, unless the program has set it. */
void sl_tcp_sndbuf_grow(struct sl_tcp *c);
/* Pieces that were sent and not acknowledged. */
static inline uint32_t sl_tcp_pieces_out(const struct sl_tcp *c)
{
	return c->tx_nxt - c->tx_una;
}

/* RFC 6675 "pipe", in pieces. */
static inline uint32_t sl_tcp_in_flight(const struct sl_tcp *c)
{
	return sl_tcp_pieces_out(c) - c->sacked_out - c->lost_out + c->retx_out;
}
/* The piece at index i, valid until the ring grows or a piece is split. */
static inline struct sl_txseg *sl_tcp_piece(const struct sl_tcp *c, uint32_t i)
{
	return &c->tx[i & (c->txsize - 1)];
}

/* Marks that only the queue's last piece has, until it is sent. */
#define SL_TXS_PUSH (1u << 3)  /* in marks: goes in spite of a cork */
#define SL_TXS_EOR  SL_TCP_RST /* in flags, but not sent: is not lengthened */

#endif
