/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a group: its layout, and the pool of frames. */
#include "base/share/share.h"
#include "base/share/share_bounce.h"

#include <errno.h>
#include <string.h>

#define AT(mem, off) ((void *)((char *)(mem) + (off)))

void sl_share_map(struct sl_share *g, void *mem, void *told, const struct sl_share_geometry *l)
{
	*g = (struct sl_share){
		.head = mem,
		.member = AT(mem, l->member_at),
		.queue = AT(mem, l->queue_at),
		.xsk = AT(mem, l->xsk_at),
		.word = AT(mem, l->word_at),
		.link = AT(mem, l->link_at),
		.free = AT(mem, l->free_at),
		.told = told,
		.told_queue = AT(told, l->told_queue_at),
		.told_xsk = AT(told, l->told_xsk_at),
		.nframes = l->nframes,
		.shift = l->frame_shift,
		.nqueues = l->nqueues,
		.nxsks = l->nxsks,
	};
}

void sl_share_init(struct sl_share *g, void *mem, void *told, const struct sl_share_geometry *l)
{
	sl_share_map(g, mem, told, l);
	g->told->member[SL_SHARE_BROKER].quota = l->nframes;
	g->told->member[SL_SHARE_BROKER].state = SL_MEMBER_LIVE;
}

/* The pool -------------------------------------------------------------------------------------
 */

void sl_share_count(struct sl_share *g, uint8_t me, int32_t n)
{
	__atomic_fetch_add(&g->member[me].held, n, __ATOMIC_RELAXED);
}

/* Members trust each other, but the broker must survive what any of them has written: each index
 * and each length is bounded by values that no member can write. */
void sl_share_push(struct sl_share *g, const uint32_t *frames, uint32_t n)
{
	uint32_t nfree = sl_min(sl_load(&g->head->nfree), g->nframes - n);

	memcpy(g->free + nfree, frames, n * sizeof(*frames));
	sl_share_step();
	sl_store(&g->head->nfree, nfree + n);
	sl_share_step();
	for (uint32_t i = 0; i < n; i++)
		sl_store(&g->word[frames[i]].all, 0);
}

/* Frames that are to be taken, and where they are. */
struct grab {
	uint32_t n, nfree;    /* off the stack, which has so many */
	uint32_t fresh, born; /* never used; the first of these */
};

/* The last of the array is used first: the
 * top of the stack, then the lowest of the fresh. */
static void pop(struct sl_share *g, uint8_t me, uint32_t *frames, struct grab t)
{
	const uint32_t mine = ((union sl_frame_word){.owner = me}).all;
	uint32_t *old = frames + t.fresh, nfree = t.nfree - t.n;

	for (uint32_t i = 0; i < t.fresh; i++) {
		sl_store(&g->word[t.born + i].all, mine);
		frames[t.fresh - 1 - i] = t.born + i;
	}
	memcpy(old, g->free + nfree, t.n * sizeof(*frames));
	for (uint32_t i = 0; i < t.n; i++) {
		old[i] = sl_min(old[i], g->nframes - 1);
		sl_store(&g->word[old[i]].all, mine);
	}
	sl_share_step();
	sl_store(&g->head->born, t.born + t.fresh);
	sl_store(&g->head->nfree, nfree);
}

uint32_t sl_share_fetch(struct sl_share *g, uint8_t me, uint32_t *frames, uint32_t want)
{
	struct grab t;

	if (!sl_share_lock(g, &g->head->lock, me))
		return 0;
	t.nfree = sl_min(sl_load(&g->head->nfree), g->nframes);
	t.born = sl_min(sl_load(&g->head->born), g->nframes);
	want = sl_min(want, sl_share_left_to(g, me));
	t.n = sl_min(want, t.nfree);
	t.fresh = sl_min(want - t.n, g->nframes - t.born);
	pop(g, me, frames, t);
	sl_share_count(g, me, (int32_t)(t.n + t.fresh));
	sl_runlock(&g->head->lock);
	return t.n + t.fresh;
}

/* Queues ---------------------------------------------------------------------------------------
 */

int sl_share_queue_open(struct sl_share *g, uint32_t ifindex, uint32_t nr)
{
	for (uint32_t i = 0; i < g->nqueues; i++) {
		struct sl_share_told_queue *q = &g->told_queue[i];

		if (q->state != SL_QUEUE_FREE)
			continue;
		g->queue[i] = (struct sl_share_queue){.fill_to = 0};
		*q = (struct sl_share_told_queue){
			.state = SL_QUEUE_OPEN, .ifindex = ifindex, .nr = nr};
		sl_store(&g->told->open, g->told->open + 1);
		return (int)i;
	}
	return -ENOSPC;
}

void sl_share_queue_close(struct sl_share *g, uint32_t queue)
{
	sl_store(&g->told->open, g->told->open - 1);
	sl_store(&g->told_queue[queue].state, SL_QUEUE_CLOSED);
}

int sl_share_xsk_open(struct sl_share *g, uint32_t queue)
{
	for (uint32_t i = 0; i < g->nxsks; i++)
		if (!g->told_xsk[i].used) {
			g->xsk[i] = (struct sl_share_xsk){.tx_to = 0};
			g->told_xsk[i].used = queue + 1;
			sl_store(&g->told_queue[queue].xsks, g->told_queue[queue].xsks + 1);
			return (int)i;
		}
	return -ENOSPC;
}

void sl_share_xsk_close(struct sl_share *g, uint32_t xsk)
{
	uint32_t queue = sl_load(&g->told_xsk[xsk].used) - 1;

	if (queue < g->nqueues && sl_load(&g->told_queue[queue].xsks))
		sl_store(&g->told_queue[queue].xsks, g->told_queue[queue].xsks - 1);
	g->told_xsk[xsk].used = 0;
}

bool sl_share_return(struct sl_share *g, struct sl_share_queue *q, uint8_t me, uint32_t frame)
{
	const union sl_frame_word w = {.all = sl_load(&g->word[frame].all)};
	uint8_t owner = w.owner % SL_SHARE_MEMBERS;

	if (!w.flight)
		return false; /* no member has sent it */
	if (owner == 0 && sl_share_is_bounce(g, frame)) {
		sl_share_bounce_put(g, frame);
		return false;
	}
	if (owner == 0) {
		sl_store(&g->word[frame].all, ((union sl_frame_word){.owner = me}).all);
		return true;
	}
	g->link[frame] = q->back[owner];
	sl_share_step();
	sl_store(&q->back[owner], frame + 1);
	return false;
}

uint32_t sl_share_returned(struct sl_share *g, struct sl_share_queue *q, uint8_t me)
{
	uint32_t frame = q->back[me] - 1;

	if (frame >= g->nframes)
		return SL_NO_FRAME;
	sl_store(&g->word[frame].flight, 0);
	sl_share_step();
	sl_store(&q->back[me], g->link[frame]);
	return frame;
}

/* Members --------------------------------------------------------------------------------------
 */

int sl_share_join(struct sl_share *g, uint32_t quota, uint32_t spare)
{
	uint64_t promised = (uint64_t)quota + spare;
	int id = 0;

	for (int i = SL_SHARE_BROKER - 1; i > 0; i--) {
		if (g->told->member[i].state == SL_MEMBER_FREE)
			id = i;
		else
			promised += g->told->member[i].quota;
	}
	if (!id)
		return -EUSERS;
	if (promised > g->nframes)
		return -ENOSPC;
	sl_store(&g->told->member[id].quota, quota);
	sl_store(&g->told->member[id].state, SL_MEMBER_LIVE);
	return id;
}
