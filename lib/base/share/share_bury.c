/* SPDX-License-Identifier: BSD-2-Clause */
/* Cleans up after a dead member of a group: releases its locks, finishes or undoes its half-done
 * work on rings and pool, gives its frames back to the pool.
 *
 * Theory of operation: share.h says how each thing is done, in which order, and how the repair
 * tells how far it came. Everything here may be broken off after any instruction (the broker dies,
 * too) and begun again: a frame is first made the dead member's, if it is not, and given to the
 * pool after that, so the walk over the words finds it a second time.
 *
 * Live members go on meanwhile. When they find a frame of the dead member completed, they put it on
 * its list as long as they see its name in the word. So the lists are emptied once more under each
 * queue's lock after the walk has taken the name out of all words: members that take the lock later
 * see that. */
#include "base/share/share.h"
#include "base/share/share_bury.h"
#include "base/share/share_bounce.h"

#include <errno.h>

#define CHUNK 128 /* frames given to the pool at once: others want its lock, too */

static bool is_dead(const struct sl_share *g, uint8_t member)
{
	return sl_load(&g->told->member[member % SL_SHARE_MEMBERS].state) == SL_MEMBER_DEAD;
}

/* A live member may write anything at any time, so each index and each end is read once. */

/* Frames on the stack have no owner, and frames from `born` on have none either. Among the second
 * kind an unfinished fetch left owners in one unbroken row behind `born`: they are cleared from its
 * end, so that the row stays unbroken if this is broken off. */
static void mend_pool(struct sl_share *g)
{
	uint32_t n = sl_min(sl_load(&g->head->nfree), g->nframes);
	uint32_t born = sl_min(sl_load(&g->head->born), g->nframes), f = born;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = sl_load(&g->free[i]);

		if (frame < g->nframes && g->word[frame].all)
			sl_store(&g->word[frame].all, 0);
	}
	while (f < g->nframes && g->word[f].all)
		f++;
	while (f-- > born)
		sl_store(&g->word[f].all, 0);
}

/* The word of the frame at addr. NULL: the address is outside of the group's memory. */
static union sl_frame_word *word_at(const struct sl_share *g, uint64_t addr, uint32_t *frame)
{
	uint64_t f = addr >> g->shift;

	*frame = (uint32_t)f;
	return f < g->nframes ? &g->word[f] : NULL;
}

/* Finishes the fill: frames that have an entry are given to the device. */
static void mend_fill(struct sl_share *g, struct sl_share_queue *q, const struct sl_share_ring *r)
{
	uint32_t at = sl_load(r->producer), end = sl_load(&q->fill_to), f;

	if (end - at > r->size)
		return;
	for (; at != end; at++) {
		union sl_frame_word *w = word_at(g, sl_load(&r->addr[at & (r->size - 1)]), &f);

		if (w)
			sl_store(&w->all, sl_share_filled(g, q));
	}
	sl_store_release(r->producer, at);
}

/* True: the dead holder of the lock dealt with the entry at comp_to. A frame in the ring that was
 * not dealt with is in flight, and on no member's list. */
static bool was_dealt(const struct sl_share *g, const struct sl_share_queue *q, uint64_t addr)
{
	uint32_t f;
	const union sl_frame_word *at = word_at(g, addr, &f);
	const union sl_frame_word w = {.all = at ? sl_load(&at->all) : 0};

	return w.owner && (!w.flight || sl_load(&q->back[w.owner % SL_SHARE_MEMBERS]) == f + 1);
}

/* Finishes the reaping: releases the entries that were dealt with. */
static void mend_comp(struct sl_share *g, struct sl_share_queue *q, const struct sl_share_ring *r)
{
	uint32_t to = sl_load(&q->comp_to);

	if (to != sl_load_acquire(r->producer) &&
	    was_dealt(g, q, sl_load(&r->addr[to & (r->size - 1)])))
		to++;
	sl_store(&q->comp_to, to);
	sl_store_release(r->consumer, to);
}

/* Takes a lock over from a dead holder and mends what it protects. q: NULL for the pool. */
static bool inherit(struct sl_share *g, struct sl_rlock *l, const struct sl_share_rings *q)
{
	uint8_t holder = sl_rlock_holder(l);

	if (!holder || !is_dead(g, holder) || !sl_rlock_inherit(l, SL_SHARE_BROKER, holder))
		return false;
	if (q) {
		mend_fill(g, &g->queue[q->queue], &q->fill);
		mend_comp(g, &g->queue[q->queue], &q->comp);
	} else {
		mend_pool(g);
	}
	return true;
}

static int lock(struct sl_share *g, struct sl_rlock *l, const struct sl_share_rings *q)
{
	if (sl_rtrylock(l, SL_SHARE_BROKER) || inherit(g, l, q))
		return 0;
	return sl_share_lock(g, l, SL_SHARE_BROKER) ? 0 : -EBUSY;
}

void sl_share_dead(struct sl_share *g, uint8_t member, const struct sl_share_rings *q, unsigned nq)
{
	sl_store(&g->told->member[member].state, SL_MEMBER_DEAD);
	if (inherit(g, &g->head->lock, NULL))
		sl_runlock(&g->head->lock);
	for (unsigned i = 0; i < nq; i++)
		if (inherit(g, &g->queue[q[i].queue].lock, &q[i]))
			sl_runlock(&g->queue[q[i].queue].lock);
}

/* An XSK's own rings ---------------------------------------------------------------------------
 */

/* Takes the flight out of frames that were not published or are stuck: they were never sent. */
static void mend_tx(struct sl_share *g, const struct sl_share_xsk_rings *x, uint8_t dead)
{
	struct sl_share_xsk *rec = &g->xsk[x->xsk];
	uint32_t from = sl_load_acquire(x->stuck ? x->tx.consumer : x->tx.producer), at = from, f;
	uint32_t end = sl_load(&rec->tx_to);

	if (end - at > x->tx.size)
		return;
	for (; at != end; at++) {
		union sl_frame_word *w =
			word_at(g, sl_load(&x->tx.addr[2 * (at & (x->tx.size - 1))]), &f);

		if (w && w->owner == dead)
			sl_store(&w->flight, 0);
	}
	sl_share_step();
	sl_store(&rec->tx_to, from);
}

/* Takes what the kernel put into the receive ring and the dead member did not take. */
void sl_share_take_rx(struct sl_share *g, uint8_t dead, const struct sl_share_xsk_rings *x,
		      sl_share_late_fn *late, void *arg)
{
	uint32_t at = sl_load(x->rx.consumer), end = sl_load_acquire(x->rx.producer), f;

	if (end - at > x->rx.size)
		return;
	for (; at != end; at++) {
		const uint64_t *desc = &x->rx.addr[2 * (at & (x->rx.size - 1))];
		uint64_t addr = sl_load(&desc[0]);
		union sl_frame_word *w = word_at(g, addr, &f);
		const union sl_frame_word now = {.all = w ? sl_load(&w->all) : 0};

		if (!w || now.owner || now.flight)
			continue;
		sl_store(&w->all, ((union sl_frame_word){.owner = dead}).all);
		if (late)
			late(arg, addr, (uint32_t)sl_load(&desc[1])); /* struct xdp_desc's len */
	}
	sl_share_step();
	sl_store_release(x->rx.consumer, end);
}

/* Frames -----------------------------------------------------------------------------------------
 */

/* Makes the frames on the dead member's list, which were sent, its own without flight; also those
 * whose owner a walk has taken out already. Returns how many. */
static uint32_t empty_list(struct sl_share *g, struct sl_share_queue *q, uint8_t dead)
{
	uint32_t n = 0;

	for (uint32_t f = sl_load(&q->back[dead]) - 1; f < g->nframes && n < g->nframes;
	     f = sl_load(&g->link[f]) - 1, n++) {
		const union sl_frame_word w = {.all = sl_load(&g->word[f].all)};

		if (w.owner == dead || (w.owner == 0 && w.flight))
			sl_store(&g->word[f].all, ((union sl_frame_word){.owner = dead}).all);
	}
	sl_share_step();
	sl_store(&q->back[dead], 0);
	return n;
}

static int empty_lists(struct sl_share *g, uint8_t dead, const struct sl_share_rings *q,
		       unsigned nq, uint32_t *frames)
{
	for (unsigned i = 0; i < nq; i++) {
		struct sl_share_queue *rec = &g->queue[q[i].queue];
		int err = lock(g, &rec->lock, &q[i]);

		if (err)
			return err;
		*frames += empty_list(g, rec, dead);
		sl_runlock(&rec->lock);
	}
	return 0;
}

static int give(struct sl_share *g, const uint32_t *frames, uint32_t n)
{
	int err = n ? lock(g, &g->head->lock, NULL) : 0;

	if (err || !n)
		return err;
	sl_share_push(g, frames, n);
	sl_runlock(&g->head->lock);
	return 0;
}

/* Gives the dead member's frames to the pool, its bounce frames to the next member of its number;
 * those in flight lose their owner. */
static int walk(struct sl_share *g, uint8_t dead, struct sl_share_left *left)
{
	uint32_t chunk[CHUNK], n = 0, born = sl_min(sl_load(&g->head->born), g->nframes);
	int err = 0;

	for (uint32_t f = 0; f < born && !err; f++) {
		union sl_frame_word w = {.all = sl_load(&g->word[f].all)};

		if (w.owner != dead)
			continue;
		if (w.flight == SL_FLIGHT_XSK) {
			sl_store(&g->word[f].all,
				 ((union sl_frame_word){.flight = SL_FLIGHT_XSK}).all);
			left->in_flight++;
			continue;
		}
		if (sl_share_is_bounce(g, f)) {
			sl_share_bounce_put(g, f);
			continue;
		}
		chunk[n++] = f;
		left->frames++;
		if (n == CHUNK) {
			err = give(g, chunk, n);
			n = 0;
		}
	}
	return err ? err : give(g, chunk, n);
}

uint32_t sl_share_posted(const struct sl_share *g, uint8_t member, uint8_t how)
{
	uint32_t n = 0, born = sl_min(sl_load(&g->head->born), g->nframes);

	for (uint32_t f = 0; f < born; f++) {
		union sl_frame_word w = {.all = sl_load(&g->word[f].all)};

		n += w.owner == member && w.flight == how;
	}
	return n;
}

int sl_share_bury(struct sl_share *g, const struct sl_share_grave *grave,
		  struct sl_share_left *left)
{
	const uint8_t dead = grave->member;
	uint32_t late = 0;
	int err;

	*left = (struct sl_share_left){0};
	sl_share_dead(g, dead, grave->q, grave->nq);
	for (unsigned i = 0; i < grave->nx; i++) {
		mend_tx(g, &grave->x[i], dead);
		sl_share_take_rx(g, dead, &grave->x[i], NULL, NULL);
	}
	err = empty_lists(g, dead, grave->q, grave->nq, &late);
	if (!err)
		err = walk(g, dead, left);
	late = 0;
	if (!err)
		err = empty_lists(g, dead, grave->q, grave->nq, &late);
	if (!err && late)
		err = walk(g, dead, left);
	if (err)
		return err;
	left->in_flight -= sl_min(late, left->in_flight);
	sl_store(&g->member[dead].held, 0);
	sl_store(&g->told->member[dead].state,
		 dead == SL_SHARE_BROKER ? SL_MEMBER_LIVE : SL_MEMBER_FREE);
	return 0;
}

int sl_share_reap(struct sl_share *g, const struct sl_share_rings *r)
{
	struct sl_share_queue *q = &g->queue[r->queue];
	uint32_t chunk[CHUNK], n = 0, at, end, f;
	int err = lock(g, &q->lock, r);

	if (err)
		return err;
	at = sl_load(r->comp.consumer);
	end = sl_load_acquire(r->comp.producer);
	if (end - at > r->comp.size) /* a member wrote there that should not */
		end = at;
	for (; at != end && n < CHUNK; at++) {
		if (word_at(g, sl_load(&r->comp.addr[at & (r->comp.size - 1)]), &f) &&
		    sl_share_return(g, q, SL_SHARE_BROKER, f))
			chunk[n++] = f;
		sl_share_step();
		sl_store(&q->comp_to, at + 1);
	}
	sl_store_release(r->comp.consumer, at);
	sl_runlock(&q->lock);
	err = give(g, chunk, n);
	return err ? err : (int)n;
}

/* Frames keep the queue's name until they are in the pool, so this can be begun again, too. */
int sl_share_reclaim(struct sl_share *g, uint32_t queue)
{
	struct sl_share_queue *q = &g->queue[queue];
	uint32_t chunk[CHUNK], n = 0, sum = 0, born = sl_min(sl_load(&g->head->born), g->nframes);
	const uint32_t name = sl_share_filled(g, q);
	int err = 0;

	for (uint32_t f = 0; f < born && !err; f++) {
		if (sl_load(&g->word[f].all) != name)
			continue;
		chunk[n++] = f;
		sum++;
		if (n == CHUNK) {
			err = give(g, chunk, n);
			n = 0;
		}
	}
	if (!err)
		err = give(g, chunk, n);
	if (err)
		return err;
	sl_store(&g->told_queue[queue].state, SL_QUEUE_FREE);
	return (int)sum;
}
