/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane's trade with the pool of frames. */
#include "io/frame.h"

#include <errno.h>
#include <stdlib.h>

struct sl_pool sl_pool;

int sl_pool_attach(uint8_t *base, uint32_t mtu, const struct sl_share *g, uint8_t member)
{
	struct sl_frame_charge *charge = calloc(g->nframes, sizeof(*charge));

	if (!charge)
		return -ENOMEM;
	sl_pool = (struct sl_pool){
		.base = base,
		.nframes = g->nframes,
		.shift = g->shift,
		.mtu = mtu,
		.me = member,
		.free_word = ((union sl_frame_word){.owner = member}).all,
		.word = g->word,
		.charge = charge,
		.share = *g,
	};
	return 0;
}

uint32_t sl_frames_fetch(struct sl_frames *c)
{
	uint32_t want = sl_min((uint32_t)SL_FRAME_BATCH, SL_FRAME_CACHE - c->n), n;

	sl_frames_count(c);
	n = sl_share_fetch(&sl_pool.share, sl_pool.me, c->idx + c->n, want);
	c->n += n;
	for (; n < SL_FRAME_BATCH && c->n < SL_FRAME_CACHE && sl_frames_spent(c); n++)
		c->idx[c->n++] = sl_frame_take_spent(c);
	return n;
}

void sl_frames_flush(struct sl_frames *c, uint32_t keep)
{
	uint32_t n = c->n > keep ? c->n - keep : 0, spent = sl_frames_spent(c);
	uint32_t at = c->spent_head & (SL_FRAME_SPENT - 1);
	uint32_t part = sl_min(spent, SL_FRAME_SPENT - at);
	struct sl_share *g = &sl_pool.share;

	if ((n == 0 && spent == 0) || !sl_rlock(&g->head->lock, sl_pool.me))
		return;
	sl_share_push(g, c->spent + at, part);
	sl_share_push(g, c->spent, spent - part);
	sl_share_push(g, c->idx + keep, n);
	sl_runlock(&g->head->lock);
	c->gained -= (int32_t)(n + spent);
	sl_frames_count(c);
	c->spent_head += spent;
	c->n -= n;
}
