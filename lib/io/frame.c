/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves frames between a lane's cache and the pool. */
#include "base/heap.h"
#include "io/frame.h"

#include <errno.h>
#include <string.h>

struct sl_pool sl_pool;

int sl_pool_attach(uint8_t *base, uint32_t mtu, const struct sl_share *g, uint8_t member)
{
	struct sl_frame_charge *charge = sl_calloc(g->nframes, sizeof(*charge));

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

#define PIECES    16u /* a fetch takes at most 1/PIECES of what is left */
#define PIECE_MIN 8u

static uint32_t could_get(const struct sl_frames *c)
{
	return sl_frames_left() + c->n + sl_frames_spent(c);
}

/* Frames that this process may hold: its quota in the group. */
static uint32_t budget(void)
{
	uint32_t quota = sl_load(&sl_pool.share.told->member[sl_pool.me].quota);

	return sl_min(quota, sl_pool.nframes);
}

/* Takes a piece of what is left into the cache, and returns its size. The piece is smaller when
 * fewer frames are left, so that many lanes together do not empty the pool. */
static uint32_t take_piece(struct sl_frames *c)
{
	uint32_t want = sl_min((uint32_t)SL_FRAME_BATCH, SL_FRAME_CACHE - c->n), n;
	uint32_t piece = sl_max(sl_frames_left() / PIECES, PIECE_MIN);

	n = sl_share_fetch(&sl_pool.share, sl_pool.me, c->idx + c->n, sl_min(want, piece));
	c->n += n;
	return n;
}

/* True: the lane has more than its reserve. Fetches frames if it has not: the pool may look spent
 * while most frames lie in the caches of lanes that receive little. */
static bool has_reserve(struct sl_frames *c)
{
	while (c->n + sl_frames_spent(c) <= c->floor && take_piece(c))
		;
	return c->n + sl_frames_spent(c) > c->floor;
}

uint32_t sl_frames_spare(const struct sl_frames *c)
{
	uint32_t avail = could_get(c), scarce = budget() / 4;

	return avail > scarce ? avail - scarce : 0;
}

enum sl_scarcity sl_frames_look(struct sl_frames *c)
{
	uint32_t avail = could_get(c), all = budget();
	enum sl_scarcity s = SL_PLENTY;

	for (uint32_t part = all / 4; avail < part && s < SL_SPENT; part /= 2)
		s++;
	if (s == SL_SPENT && (!c->floor || has_reserve(c)))
		s = SL_RESERVED;
	c->scarcity = (uint8_t)s;
	return s;
}

bool sl_frames_is_over(struct sl_frames *c, uint32_t held, uint32_t divisor, uint32_t sharers)
{
	static const uint8_t always[] = {SL_QUEUE_FRAMES, 4, 1, 0};
	enum sl_scarcity s = sl_frames_scarcity(c);
	uint32_t limit;

	if (s == SL_SPENT)
		return true;
	if (held <= always[s])
		return false;
	if (s == SL_RESERVED)
		return true;
	limit = could_get(c) / divisor;
	if (s != SL_PLENTY)
		limit = (uint32_t)sl_min(4ull * limit / (sharers + 3), (uint64_t)limit);
	return held > limit;
}

/* Trade ---------------------------------------------------------------------------------------- */

uint32_t sl_frames_fetch(struct sl_frames *c)
{
	uint32_t n;

	sl_frames_count(c);
	n = take_piece(c);
	for (; n < SL_FRAME_BATCH && c->n < SL_FRAME_CACHE && sl_frames_spent(c); n++)
		c->idx[c->n++] = sl_frame_take_spent(c);
	return n;
}

void sl_frames_close_scrap(struct sl_frames *c)
{
	uint32_t frame = c->scrap - 1;

	if (!c->scrap)
		return;
	c->scrap = 0;
	sl_frame_put(c, frame);
}

/* Takes from the reserve, and leaves half of it, as a fill ring does: acknowledgments that free
 * frames must get in when queues have taken all others. */
static SL_APART uint32_t frame_of_reserve(struct sl_frames *c)
{
	uint32_t f;

	if (c->n <= c->floor / 2u)
		return SL_NO_FRAME;
	f = c->idx[--c->n];
	sl_frame_own(f, 1);
	return f;
}

uint32_t sl_frame_get_spent(struct sl_frames *c)
{
	uint32_t f;

	if (!sl_frames_spent(c)) {
		f = sl_frame_get(c);
		return sl_likely(f != SL_NO_FRAME) ? f : frame_of_reserve(c);
	}
	f = sl_frame_take_spent(c);
	sl_frame_own(f, 1);
	return f;
}

void sl_frames_flush(struct sl_frames *c, uint32_t keep)
{
	uint32_t n, spent = sl_frames_spent(c);
	uint32_t at = c->spent_head & (SL_FRAME_SPENT - 1);
	uint32_t part = sl_min(spent, SL_FRAME_SPENT - at);
	struct sl_share *g = &sl_pool.share;

	if (!keep)
		sl_frames_close_scrap(c);
	n = c->n > keep ? c->n - keep : 0;
	if ((n == 0 && spent == 0) || !sl_share_lock(g, &g->head->lock, sl_pool.me))
		return;
	sl_share_push(g, c->spent + at, part);
	sl_share_push(g, c->spent, spent - part);
	sl_share_push(g, c->idx + keep, n);
	sl_runlock(&g->head->lock);
	c->gained -= (int32_t)(n + spent);
	c->spent_head += spent;
	c->n -= n;
	sl_frames_count(c);
}
