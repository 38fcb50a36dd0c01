/* SPDX-License-Identifier: BSD-2-Clause */
/* Which pieces are lost (tcp_rack.c; RFC 8985, 6675). */
#ifndef SL_TCP_RACK_H
#define SL_TCP_RACK_H

#include "tcp/loss/tcp_loss.h"

/* Marks the piece at i as lost. */
void sl_tcp_mark_lost(struct sl_tcp *c, uint32_t i);
void sl_tcp_mark_all_lost(struct sl_tcp *c); /* after an RTO */
void sl_tcp_unmark_lost(struct sl_tcp *c);   /* none was lost */
void sl_tcp_loss_settle(struct sl_tcp *c);   /* frees the board if it has nothing of use */
/* Marks pieces that RACK finds lost; arms reo_at if some must be checked later (RFC 8985 6.2). */
void sl_tcp_rack_detect(struct sl_tcp *c);
bool sl_tcp_rack_on_retransmit(struct sl_tcp *c, uint32_t i); /* false: no memory */
void sl_tcp_rack_recovered(struct sl_tcp *c);                 /* call at the end of a recovery */
/* Call for each ACK, with or without SACK blocks, before sl_tcp_snd_drop(): marks the pieces that
 * it reports, updates the RACK time, fills in a. */
void sl_tcp_loss_sack(struct sl_tcp *c, const struct sl_tcp_seg *seg, struct sl_tcp_ack *a);
/* Call before the pieces [tx_una, to) are dropped as acknowledged. */
void sl_tcp_loss_cum(struct sl_tcp *c, uint32_t to, struct sl_tcp_ack *a);
/* Index of the next piece that recovery must send again, or tx_nxt. */
uint32_t sl_tcp_loss_next(struct sl_tcp *c);
/* Called by sl_tcp_snd_split(): the piece at i has become the pieces i and i + 1 (with equal
 * marks, sent, sent_us); tx_nxt and tx_tail have moved. Keeps the counters equal to the marks. */
void sl_tcp_loss_on_split(struct sl_tcp *c, uint32_t i);
/* Called by sl_tcp_snd_free(). */
void sl_tcp_loss_free(struct sl_tcp *c);

#endif
