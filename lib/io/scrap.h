/* SPDX-License-Identifier: BSD-2-Clause */
/* Scraps: small packets share a frame, each with a reference to it (scrap.c). */
#ifndef SL_SCRAP_H
#define SL_SCRAP_H

#include "io/frame.h"

#define SL_SCRAP_MAX 256u /* bytes that are worth copying to save a frame */

/* Copies len bytes into the open scrap frame, to a multiple of align (a power of two; len and align
 * are less than a frame). Returns the frame, with a reference for the caller, and the offset in
 * *off; SL_NO_FRAME: none is free. Lane held. */
uint32_t sl_scrap_put(struct sl_frames *c, const void *data, uint32_t len, uint32_t align,
		      uint16_t *off);

/* True: the bytes that end at `end` of a frame are the last ones in the open scrap frame, and there
 * is room for len more behind them. The caller may write these and calls sl_scrap_lengthen(). */
static inline bool sl_scrap_is_last(const struct sl_frames *c, uint32_t frame, uint32_t end,
				    uint32_t len)
{
	return c->scrap == frame + 1 && c->scrap_at == end && end + len <= 1u << sl_pool.shift;
}
static inline void sl_scrap_lengthen(struct sl_frames *c, uint32_t len)
{
	c->scrap_at += len;
}

#endif
