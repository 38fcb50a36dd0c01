/* SPDX-License-Identifier: BSD-2-Clause */
/* The row of pieces beyond a hole, sorted, in blocks.
 *
 * Theory of operation: a peer can make tens of thousands of pieces and send the next one where it
 * likes. In one array each would move all behind it. So the row is cut into blocks of at most
 * SL_OOO_BLOCK pieces: one that is put in or taken out moves the others of its block; a full block
 * is divided, and neighbours that hold few together become one, which moves the list of blocks.
 * Two neighbours always hold more than MERGE together, so there are few blocks. Pieces that come in
 * order fill a block before the next one begins. */
#include "tcp/tcp_ooo.h"

#include "base/heap.h"

#include <string.h>

#define FIRST  8 /* pieces of the first block, at first */
#define BLOCKS 8 /* blocks listed, at first */
#define MERGE  (SL_OOO_BLOCK / 2)

struct sl_oooseg *sl_ooo_piece(const struct sl_ooo *o, struct sl_ooo_at at)
{
	return at.b < o->nblocks ? &o->block[at.b]->seg[at.k] : NULL;
}

static struct sl_oooseg *last_of(struct sl_oooblock *b)
{
	return &b->seg[b->first + b->n - 1];
}

struct sl_oooseg *sl_ooo_last(const struct sl_ooo *o)
{
	return o->nblocks ? last_of(o->block[o->nblocks - 1]) : NULL;
}

struct sl_oooseg *sl_ooo_before(const struct sl_ooo *o, struct sl_ooo_at at)
{
	if (at.b < o->nblocks && at.k > o->block[at.b]->first)
		return &o->block[at.b]->seg[at.k - 1];
	return at.b ? last_of(o->block[at.b - 1]) : NULL;
}

static struct sl_ooo_at begin_of(const struct sl_ooo *o, uint32_t b)
{
	return (struct sl_ooo_at){b, b < o->nblocks ? o->block[b]->first : 0};
}

struct sl_ooo_at sl_ooo_first(const struct sl_ooo *o)
{
	return begin_of(o, 0);
}

struct sl_ooo_at sl_ooo_next(const struct sl_ooo *o, struct sl_ooo_at at)
{
	const struct sl_oooblock *b = o->block[at.b];

	if (at.k + 1 < (uint32_t)b->first + b->n)
		return (struct sl_ooo_at){at.b, at.k + 1};
	return begin_of(o, at.b + 1);
}

struct sl_ooo_at sl_ooo_find(const struct sl_ooo *o, uint32_t seq)
{
	uint32_t lo = 0, hi = o->nblocks, k, end;

	/* New pieces mostly come at the end. */
	if (hi && sl_seq_le(sl_ooo_end(sl_ooo_last(o)), seq))
		return begin_of(o, hi);
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (sl_seq_gt(sl_ooo_end(last_of(o->block[mid])), seq))
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == o->nblocks)
		return begin_of(o, lo);
	k = o->block[lo]->first;
	end = k + o->block[lo]->n;
	while (k < end) {
		uint32_t mid = (k + end) / 2;

		if (sl_seq_gt(sl_ooo_end(&o->block[lo]->seg[mid]), seq))
			end = mid;
		else
			k = mid + 1;
	}
	return (struct sl_ooo_at){lo, k};
}

/* Makes an empty block of that size block number b of the row. */
static struct sl_oooblock *add_block(struct sl_ooo *o, uint32_t b, uint32_t size)
{
	uint32_t max = o->max_blocks ? o->max_blocks * 2 : BLOCKS;
	struct sl_oooblock **list, *new;

	if (o->nblocks == o->max_blocks) {
		list = sl_realloc(o->block, max * sizeof(*list));
		if (!list)
			return NULL;
		o->block = list;
		o->max_blocks = max;
	}
	new = sl_malloc(sizeof(*new) + size * sizeof(new->seg[0]));
	if (!new)
		return NULL;
	*new = (struct sl_oooblock){.size = (uint16_t)size};
	memmove(o->block + b + 1, o->block + b, (o->nblocks - b) * sizeof(*o->block));
	o->block[b] = new;
	o->nblocks++;
	return new;
}

static void drop_block(struct sl_ooo *o, uint32_t b)
{
	sl_free(o->block[b]);
	o->nblocks--;
	memmove(o->block + b, o->block + b + 1, (o->nblocks - b) * sizeof(*o->block));
}

static void move(struct sl_oooblock *b, uint32_t to, uint32_t from, uint32_t n)
{
	memmove(b->seg + to, b->seg + from, n * sizeof(b->seg[0]));
}

/* Makes room in a full block: it grows, or its upper half becomes a block of its own. */
static bool make_block_room(struct sl_ooo *o, struct sl_ooo_at *at)
{
	struct sl_oooblock *b = o->block[at->b], *new;
	uint32_t size = b->size * 2u, half = b->n / 2u;

	if (size <= SL_OOO_BLOCK) {
		new = sl_realloc(b, sizeof(*b) + size * sizeof(b->seg[0]));
		if (!new)
			return false;
		new->size = (uint16_t)size;
		o->block[at->b] = new;
		return true;
	}
	new = add_block(o, at->b + 1, SL_OOO_BLOCK);
	if (!new)
		return false;
	if (at->k == b->n && at->b + 2 == o->nblocks) { /* in order */
		*at = (struct sl_ooo_at){at->b + 1, 0};
		return true;
	}
	new->n = (uint16_t)(b->n - half);
	memcpy(new->seg, b->seg + half, new->n * sizeof(b->seg[0]));
	b->n = (uint16_t)half;
	if (at->k > half)
		*at = (struct sl_ooo_at){at->b + 1, at->k - half};
	return true;
}

struct sl_oooseg *sl_ooo_put(struct sl_ooo *o, struct sl_ooo_at at)
{
	struct sl_oooblock *b;
	uint32_t end;

	if (!o->nblocks && !add_block(o, 0, FIRST))
		return NULL;
	if (at.b == o->nblocks)
		at = (struct sl_ooo_at){at.b - 1,
					o->block[at.b - 1]->first + o->block[at.b - 1]->n};
	else if (!o->block[at.b]->n)
		at = (struct sl_ooo_at){0, 0}; /* the block that was just made */
	b = o->block[at.b];
	if (b->n == b->size) {
		if (!make_block_room(o, &at))
			return NULL;
		b = o->block[at.b];
	}
	end = (uint32_t)b->first + b->n;
	b->n++;
	if (end < b->size) {
		move(b, at.k + 1, at.k, end - at.k);
		return &b->seg[at.k];
	}
	b->first--;
	move(b, b->first, b->first + 1u, at.k - b->first - 1u);
	return &b->seg[at.k - 1];
}

/* Joins block b and the one behind it if they hold few pieces. */
static bool merge(struct sl_ooo *o, uint32_t b, struct sl_ooo_at *at)
{
	struct sl_oooblock *to, *from;

	if (b + 1 >= o->nblocks)
		return false;
	to = o->block[b];
	from = o->block[b + 1];
	if (to->n + from->n > MERGE || to->n + from->n > to->size)
		return false;
	move(to, 0, to->first, to->n);
	memcpy(to->seg + to->n, from->seg + from->first, from->n * sizeof(from->seg[0]));
	if (at->b == b)
		at->k -= to->first;
	else if (at->b == b + 1)
		*at = (struct sl_ooo_at){b, at->k - from->first + to->n};
	to->first = 0;
	to->n = (uint16_t)(to->n + from->n);
	drop_block(o, b + 1);
	return true;
}

void sl_ooo_cut(struct sl_ooo *o, struct sl_ooo_at *at)
{
	struct sl_oooblock *b = o->block[at->b];
	struct sl_ooo_at in = *at;
	bool last;

	b->n--;
	if (!b->n) {
		drop_block(o, at->b);
		*at = begin_of(o, at->b);
		return;
	}
	if (in.k == b->first)
		in.k = ++b->first;
	else
		move(b, in.k, in.k + 1, (uint32_t)b->first + b->n - in.k);
	last = in.k == (uint32_t)b->first + b->n;
	if (!merge(o, in.b, &in) && in.b)
		merge(o, in.b - 1, &in);
	if (last && in.k == (uint32_t)o->block[in.b]->first + o->block[in.b]->n)
		in = begin_of(o, in.b + 1);
	*at = in;
}

void sl_ooo_cut_last(struct sl_ooo *o)
{
	const struct sl_oooblock *b = o->block[o->nblocks - 1];
	struct sl_ooo_at at = {o->nblocks - 1, b->first + b->n - 1u};

	sl_ooo_cut(o, &at);
}

bool sl_ooo_is_small(const struct sl_ooo *o)
{
	return o->max_blocks <= BLOCKS && !o->nblocks;
}

void sl_ooo_free(struct sl_ooo *o)
{
	if (!o)
		return;
	while (o->nblocks)
		sl_free(o->block[--o->nblocks]);
	sl_free(o->block);
	sl_free(o);
}
