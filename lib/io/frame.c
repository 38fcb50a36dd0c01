/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared side of the frame pool. */
#include "io/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROW 1024 /* frames asked for at once */

struct sl_pool sl_pool;

int sl_pool_init(uint8_t *base, uint32_t nframes, uint32_t shift,
		 uint32_t (*more)(uint32_t want, uint32_t *first))
{
	sl_pool.free = malloc(nframes * sizeof(*sl_pool.free));
	sl_pool.refs = calloc(nframes, sizeof(*sl_pool.refs));
	sl_pool.charge = calloc(nframes, sizeof(*sl_pool.charge));
	if (!sl_pool.free || !sl_pool.refs || !sl_pool.charge) {
		free(sl_pool.free);
		free(sl_pool.refs);
		free(sl_pool.charge);
		sl_pool.free = NULL;
		sl_pool.refs = NULL;
		sl_pool.charge = NULL;
		return -ENOMEM;
	}
	sl_pool.base = base;
	sl_pool.nframes = nframes;
	sl_pool.shift = shift;
	sl_pool.nfree = 0;
	sl_pool.more = more;
	sl_pool.unborn = nframes;
	return 0;
}

/* Asks for frames that nobody has had yet; pool locked. */
static void grow(void)
{
	uint32_t first, n = sl_pool.more(GROW, &first);

	for (uint32_t i = 0; i < n; i++)
		sl_pool.free[sl_pool.nfree + i] = first + n - 1 - i; /* the first on top */
	sl_store(&sl_pool.nfree, sl_pool.nfree + n);
	sl_store(&sl_pool.unborn, n ? sl_pool.unborn - n : 0);
}

uint32_t sl_frames_fetch(struct sl_frames *c)
{
	uint32_t n;

	if (!sl_lock(&sl_pool.lock))
		return 0;
	if (sl_pool.nfree < SL_FRAME_BATCH && sl_pool.unborn)
		grow();
	n = sl_min(sl_pool.nfree, (uint32_t)SL_FRAME_BATCH);
	n = sl_min(n, SL_FRAME_CACHE - c->n);
	memcpy(c->idx + c->n, sl_pool.free + sl_pool.nfree - n, n * sizeof(uint32_t));
	sl_store(&sl_pool.nfree, sl_pool.nfree - n);
	sl_unlock(&sl_pool.lock);
	c->n += n;
	for (; n < SL_FRAME_BATCH && c->n < SL_FRAME_CACHE && sl_frames_spent(c); n++)
		c->idx[c->n++] = sl_frame_take_spent(c);
	return n;
}

void sl_frames_flush(struct sl_frames *c, uint32_t keep)
{
	uint32_t n = c->n > keep ? c->n - keep : 0;

	if ((n == 0 && !sl_frames_spent(c)) || !sl_lock(&sl_pool.lock))
		return;
	while (sl_frames_spent(c)) {
		sl_pool.free[sl_pool.nfree] = sl_frame_take_spent(c);
		sl_store(&sl_pool.nfree, sl_pool.nfree + 1);
	}
	memcpy(sl_pool.free + sl_pool.nfree, c->idx + keep, n * sizeof(uint32_t));
	sl_store(&sl_pool.nfree, sl_pool.nfree + n);
	sl_unlock(&sl_pool.lock);
	c->n -= n;
}
