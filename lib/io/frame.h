/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory: one pool of equal frames, the UMEM of every XSK of the process (and the MR of a
 * verbs queue). A frame is a number; lanes hold some in a cache and trade with the pool in batches.
 */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include "base/base.h"
#include "base/lock.h"

#define SL_NO_FRAME    UINT32_MAX
#define SL_FRAME_CACHE 512
#define SL_FRAME_BATCH 128
#define SL_FRAME_SPENT 512 /* power of two */

/* Who pays for a frame that is being sent: their count of bytes under way, or NULL. */
struct sl_frame_charge {
	uint32_t *wmem; /* in memory that is never unmapped; atomic */
	uint32_t bytes;
};

struct sl_pool {
	uint8_t *base;
	uint32_t nframes;
	uint32_t shift;                 /* log2 of the frame size */
	uint16_t *refs;                 /* for each frame: how many hold it; 0: free */
	struct sl_frame_charge *charge; /* for each frame in flight; NULL: none */
	struct sl_lock lock;            /* protects what follows */
	uint32_t nfree;
	uint32_t *free; /* stack */
	uint32_t (*more)(uint32_t want, uint32_t *first);
	uint32_t unborn; /* frames that more() may still give */
};
extern struct sl_pool sl_pool;

/* A lane's frames; used under the lane's lock. */
struct sl_frames {
	uint32_t n;
	uint32_t idx[SL_FRAME_CACHE];
	/* Received into and done with: for the fill ring again, in the order in which they came.
	 * Its frames then lie in memory one after the other, which the processor sees ahead, and
	 * those that are sent, last in first out, stay in its cache. */
	uint32_t spent_head, spent_tail;
	uint32_t spent[SL_FRAME_SPENT];
};

/* base: nframes frames of 1 << shift bytes, none of them in the pool yet: more(want, &first) gives
 * up to want of them when the pool runs dry, 0 when there are no more. -ENOMEM. */
int sl_pool_init(uint8_t *base, uint32_t nframes, uint32_t shift,
		 uint32_t (*more)(uint32_t want, uint32_t *first));
/* Moves frames between cache and pool; how many moved. */
uint32_t sl_frames_fetch(struct sl_frames *c);
void sl_frames_flush(struct sl_frames *c, uint32_t keep);

static inline uint8_t *sl_frame_ptr(uint32_t frame)
{
	return sl_pool.base + ((size_t)frame << sl_pool.shift);
}

/* A free frame with one reference, or SL_NO_FRAME. */
static inline uint32_t sl_frame_get(struct sl_frames *c)
{
	uint32_t f;

	if (sl_unlikely(c->n == 0) && sl_frames_fetch(c) == 0)
		return SL_NO_FRAME;
	f = c->idx[--c->n];
	sl_pool.refs[f] = 1;
	return f;
}

/* A frame that nobody holds any more. */
static inline void sl_frame_free(struct sl_frames *c, uint32_t frame)
{
	if (sl_unlikely(c->n == SL_FRAME_CACHE)) {
		sl_frames_flush(c, SL_FRAME_CACHE / 2);
		/* We are in a signal handler inside the pool's lock: this frame is lost. */
		if (c->n == SL_FRAME_CACHE)
			return;
	}
	sl_pool.refs[frame] = 0;
	c->idx[c->n++] = frame;
}

/* The frame is going out at the expense of *wmem. */
static inline void sl_frame_charge(uint32_t frame, uint32_t *wmem, uint32_t bytes)
{
	sl_pool.charge[frame] = (struct sl_frame_charge){wmem, bytes};
	__atomic_fetch_add(wmem, bytes, __ATOMIC_RELAXED);
}

/* One holder more (any lane). */
static inline void sl_frame_ref(uint32_t frame)
{
	__atomic_fetch_add(&sl_pool.refs[frame], 1, __ATOMIC_RELAXED);
}

/* Drops a reference; the last one frees. A single holder needs no atomic: nobody else can add. */
static inline void sl_frame_put(struct sl_frames *c, uint32_t frame)
{
	if (sl_load_acquire(&sl_pool.refs[frame]) == 1 ||
	    __atomic_sub_fetch(&sl_pool.refs[frame], 1, __ATOMIC_ACQ_REL) == 0)
		sl_frame_free(c, frame);
}

static inline uint32_t sl_frames_spent(const struct sl_frames *c)
{
	return c->spent_tail - c->spent_head;
}

/* The oldest of the spent frames; there is one. */
static inline uint32_t sl_frame_take_spent(struct sl_frames *c)
{
	return c->spent[c->spent_head++ & (SL_FRAME_SPENT - 1)];
}

/* As sl_frame_put(), of a frame that was received and is of no use any more. */
static inline void sl_frame_spent(struct sl_frames *c, uint32_t frame)
{
	if (sl_load_acquire(&sl_pool.refs[frame]) != 1 || sl_frames_spent(c) == SL_FRAME_SPENT) {
		sl_frame_put(c, frame);
		return;
	}
	sl_pool.refs[frame] = 0;
	c->spent[c->spent_tail++ & (SL_FRAME_SPENT - 1)] = frame;
}

/* A sent frame has come back: the device holds it no longer (TCP may, until it is acknowledged).
 * Tells who paid. */
static inline void sl_frame_sent(struct sl_frames *c, uint32_t frame)
{
	struct sl_frame_charge *ch = &sl_pool.charge[frame];

	if (ch->wmem) {
		__atomic_fetch_sub(ch->wmem, ch->bytes, __ATOMIC_RELEASE);
		ch->wmem = NULL;
	}
	sl_frame_put(c, frame);
}

#endif
