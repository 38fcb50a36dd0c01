/* SPDX-License-Identifier: BSD-2-Clause */
/* The row of pieces beyond a hole (tcp_ooo.c). Lane held. */
#ifndef SL_TCP_OOO_H
#define SL_TCP_OOO_H

#include "tcp/tcp_queue.h"

/* A place in the row, valid until the row changes. */
struct sl_ooo_at {
	uint32_t b; /* number of the block; nblocks: behind the last piece */
	uint32_t k; /* index in the block's seg[] */
};

/* The sequence number after a piece, its FIN included. */
static inline uint32_t sl_ooo_end(const struct sl_oooseg *e)
{
	return e->seq + e->len + e->fin;
}

/* The piece at a place. NULL: the place is behind the last piece. Valid until the row changes. */
struct sl_oooseg *sl_ooo_piece(const struct sl_ooo *o, struct sl_ooo_at at);
/* The piece in front of a place, or NULL. */
struct sl_oooseg *sl_ooo_before(const struct sl_ooo *o, struct sl_ooo_at at);
/* The last piece, or NULL. */
struct sl_oooseg *sl_ooo_last(const struct sl_ooo *o);
/* The place of the first piece, and the place behind a piece. */
struct sl_ooo_at sl_ooo_first(const struct sl_ooo *o);
struct sl_ooo_at sl_ooo_next(const struct sl_ooo *o, struct sl_ooo_at at);
/* The place of the first piece that ends above seq. */
struct sl_ooo_at sl_ooo_find(const struct sl_ooo *o, uint32_t seq);
/* Makes room for a piece at a place and returns it, to be filled in. NULL: no memory; the row is
 * unchanged. Earlier places are not valid any more. */
struct sl_oooseg *sl_ooo_put(struct sl_ooo *o, struct sl_ooo_at at);
/* Removes the piece at *at, whose frame is the caller's; *at is then the place of the next one. */
void sl_ooo_cut(struct sl_ooo *o, struct sl_ooo_at *at);
/* Removes the last piece, whose frame is the caller's; there must be one. */
void sl_ooo_cut_last(struct sl_ooo *o);
/* True: the row is empty and holds hardly any memory. */
bool sl_ooo_is_small(const struct sl_ooo *o);
/* Frees o and its row; the pieces' frames are the caller's. o may be NULL. */
void sl_ooo_free(struct sl_ooo *o);

#endif
