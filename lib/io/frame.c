/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared side of the frame pool. */
#include "io/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sl_pool sl_pool;

int sl_pool_init(uint8_t *base, uint32_t nframes, uint32_t shift)
{
	sl_pool.free = malloc(nframes * sizeof(*sl_pool.free));
	sl_pool.refs = calloc(nframes, sizeof(*sl_pool.refs));
	if (!sl_pool.free || !sl_pool.refs) {
		free(sl_pool.free);
		free(sl_pool.refs);
		sl_pool.free = NULL;
		sl_pool.refs = NULL;
		return -ENOMEM;
	}
	sl_pool.base = base;
	sl_pool.nframes = nframes;
	sl_pool.shift = shift;
	sl_pool.nfree = nframes;
	for (uint32_t i = 0; i < nframes; i++)
		sl_pool.free[i] = i; /* the highest number is taken first */
	return 0;
}

void sl_pool_reserve(uint32_t first, uint32_t n)
{
	uint32_t keep = 0;

	sl_lock(&sl_pool.lock);
	for (uint32_t i = 0; i < sl_pool.nfree; i++)
		if (sl_pool.free[i] - first >= n)
			sl_pool.free[keep++] = sl_pool.free[i];
	sl_store(&sl_pool.nfree, keep);
	sl_unlock(&sl_pool.lock);
}

uint32_t sl_frames_fetch(struct sl_frames *c)
{
	uint32_t n;

	if (!sl_lock(&sl_pool.lock))
		return 0;
	n = sl_min(sl_pool.nfree, (uint32_t)SL_FRAME_BATCH);
	n = sl_min(n, SL_FRAME_CACHE - c->n);
	memcpy(c->idx + c->n, sl_pool.free + sl_pool.nfree - n, n * sizeof(uint32_t));
	sl_store(&sl_pool.nfree, sl_pool.nfree - n);
	sl_unlock(&sl_pool.lock);
	c->n += n;
	return n;
}

void sl_frames_flush(struct sl_frames *c, uint32_t keep)
{
	uint32_t n = c->n > keep ? c->n - keep : 0;

	if (n == 0 || !sl_lock(&sl_pool.lock))
		return;
	memcpy(sl_pool.free + sl_pool.nfree, c->idx + keep, n * sizeof(uint32_t));
	sl_store(&sl_pool.nfree, sl_pool.nfree + n);
	sl_unlock(&sl_pool.lock);
	c->n = keep;
}
