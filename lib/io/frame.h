/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory: one pool of equal frames, the UMEM of every XSK of the group (and the MR of a
 * verbs queue). A frame is a number; lanes hold some in a cache and trade with the pool in batches.
 */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include "base/base.h"
#include "base/share/share.h"

#define SL_FRAME_CACHE 512
#define SL_FRAME_BATCH 128
#define SL_FRAME_SPENT 512 /* power of two */
#define SL_FRAME_FLOOR 64  /* frames of a lane's cache that no queue takes */

/* Sender's count of bytes under way, against which a frame that is being sent counts. */
struct sl_frame_charge {
	uint32_t *wmem; /* never unmapped; atomic. NULL: not counted */
	uint32_t bytes;
	uint32_t tag; /* the sender's mark of a packet that waits (pace.h); 0: none */
};

struct sl_pool {
	uint8_t *base;
	uint32_t nframes;
	uint32_t shift;            /* log2 of the frame size */
	uint32_t mtu;              /* bytes of the longest IP packet that one is received into */
	uint8_t me;                /* our member of the group */
	uint32_t free_word;        /* the word of a frame of ours without a holder */
	union sl_frame_word *word; /* one for each frame; shared */
	struct sl_frame_charge *charge; /* one for each frame; NULL: sends are not counted */
	struct sl_share share;
};
extern struct sl_pool sl_pool;

/* How short frames are, by what a lane could still get. The last part of them is a reserve that no
 * queue takes: with it fill rings are filled and segments without data are sent. */
enum sl_scarcity {
	SL_PLENTY,   /* a quarter of the member's quota or more is left */
	SL_SCARCE,   /* less: small packets are copied together, queues are to be short */
	SL_SHORT,    /* less than an eighth: what the peer can send again is dropped */
	SL_RESERVED, /* less than a sixteenth: a frame only for a queue that has none */
	SL_SPENT     /* less than half of that: none for any queue */
};

/* A lane's frames; used under the lane's lock. */
struct sl_frames {
	uint32_t n;
	uint32_t idx[SL_FRAME_CACHE];
	/* Received frames that are no longer needed, for the fill ring again, in the order in which
	 * they came: so its frames lie in memory one after the other, which the processor
	 * prefetches, and frames for sending, last in first out, stay in its cache. */
	uint32_t spent_head, spent_tail;
	uint32_t spent[SL_FRAME_SPENT];
	/* Frames received less frames put into fill rings, not yet told the group. */
	int32_t gained;
	uint8_t scarcity; /* enum sl_scarcity, when frames were traded last */
	/* The last so many of idx are for fill rings and segments without data alone; fill rings
	 * leave half of them. 0: the lane has no leg, and needs no reserve (SL_SPENT). */
	uint8_t floor;
	/* The frame that small packets are copied into one behind the other: number + 1, 0: none;
	 * and where the next begins. */
	uint32_t scrap;
	uint32_t scrap_at;
};

/* base: the frames' memory; mtu: what a frame has room for; member: ours of the group. -ENOMEM. */
int sl_pool_attach(uint8_t *base, uint32_t mtu, const struct sl_share *g, uint8_t member);
/* Moves frames between cache and pool; how many moved. */
uint32_t sl_frames_fetch(struct sl_frames *c);
void sl_frames_flush(struct sl_frames *c, uint32_t keep);
/* Drops the lane's own reference to the open scrap frame, if there is one: nothing more is copied
 * into it (scrap.c). */
void sl_frames_close_scrap(struct sl_frames *c);

/* Frames that we could still get from the pool. */
static inline uint32_t sl_frames_left(void)
{
	return sl_share_left_to(&sl_pool.share, sl_pool.me);
}

/* Looks how short frames are now; also remembers that. */
enum sl_scarcity sl_frames_look(struct sl_frames *c);

/* sl_frames_look() for the packet path: looks only while frames are scarce. sl_frames_count(),
 * called after trading with the pool, finds out when they become so. */
static inline enum sl_scarcity sl_frames_scarcity(struct sl_frames *c)
{
	return sl_likely(c->scarcity == SL_PLENTY) ? SL_PLENTY : sl_frames_look(c);
}

/* Tells the group what was gained otherwise than from the pool. */
static inline void sl_frames_count(struct sl_frames *c)
{
	sl_share_count(&sl_pool.share, sl_pool.me, c->gained);
	c->gained = 0;
	sl_frames_look(c);
}

static inline uint8_t *sl_frame_ptr(uint32_t frame)
{
	return sl_pool.base + ((size_t)frame << sl_pool.shift);
}

/* Number of references. */
static inline uint16_t sl_frame_refs(uint32_t frame)
{
	return sl_load_acquire(&sl_pool.word[frame].refs);
}

/* The frame is ours from now on, with so many references. */
static inline void sl_frame_own(uint32_t frame, uint16_t refs)
{
	sl_store(&sl_pool.word[frame].all, sl_pool.free_word | SL_FRAME_REFS(refs));
}

/* A free frame with one reference for a queue, or SL_NO_FRAME. */
static inline uint32_t sl_frame_get(struct sl_frames *c)
{
	uint32_t f;

	if (sl_unlikely(c->n <= c->floor) && (sl_frames_fetch(c) == 0 || c->n <= c->floor))
		return SL_NO_FRAME;
	f = c->idx[--c->n];
	sl_frame_own(f, 1);
	return f;
}

/* sl_frame_get() for a packet that is sent at once and comes back: also takes from the floor. */
static inline uint32_t sl_frame_get_last(struct sl_frames *c)
{
	uint32_t f;

	if (sl_unlikely(c->n == 0) && sl_frames_fetch(c) == 0)
		return SL_NO_FRAME;
	f = c->idx[--c->n];
	sl_frame_own(f, 1);
	return f;
}

/* Puts a frame without holder into the cache. */
static inline void sl_frame_free(struct sl_frames *c, uint32_t frame)
{
	if (sl_unlikely(c->n == SL_FRAME_CACHE)) {
		sl_frames_flush(c, SL_FRAME_CACHE / 2);
		/* We are in a signal handler inside the pool's lock: this frame is lost. */
		if (c->n == SL_FRAME_CACHE)
			return;
	}
	sl_frame_own(frame, 0);
	c->idx[c->n++] = frame;
}

/* The frame is being sent, and counts in *wmem until it has come back. */
static inline void sl_frame_charge(uint32_t frame, uint32_t *wmem, uint32_t bytes)
{
	sl_pool.charge[frame] = (struct sl_frame_charge){wmem, bytes, 0};
	__atomic_fetch_add(wmem, bytes, __ATOMIC_RELAXED);
}

/* Adds a reference. Any lane may. */
static inline void sl_frame_ref(uint32_t frame)
{
	__atomic_fetch_add(&sl_pool.word[frame].refs, 1, __ATOMIC_RELAXED);
}

/* Adds a reference to a frame when the caller has the only one. */
static inline void sl_frame_ref_single(uint32_t frame)
{
	sl_store(&sl_pool.word[frame].refs, 2);
}

/* Drops a reference; the last one frees. The single holder needs no atomic: no other can add. */
static inline void sl_frame_put(struct sl_frames *c, uint32_t frame)
{
	if (sl_frame_refs(frame) == 1 ||
	    __atomic_sub_fetch(&sl_pool.word[frame].refs, 1, __ATOMIC_ACQ_REL) == 0)
		sl_frame_free(c, frame);
}

static inline uint32_t sl_frames_spent(const struct sl_frames *c)
{
	return c->spent_tail - c->spent_head;
}

/* True: a queue that holds so many frames may have no more. divisor: one queue gets this part of
 * what is left (Choudhury and Hahne, 1998: a queue that is not read starves no other). sharers:
 * about how many queues share it once frames are scarce. */
bool sl_frames_is_over(struct sl_frames *c, uint32_t held, uint32_t divisor, uint32_t sharers);

#define SL_QUEUE_FRAMES 16 /* a queue may always hold so many while there are plenty */

/* The oldest of the spent frames; there is one. */
static inline uint32_t sl_frame_take_spent(struct sl_frames *c)
{
	return c->spent[c->spent_head++ & (SL_FRAME_SPENT - 1)];
}

/* sl_frame_put() for a received frame that is no longer needed: it goes to the fill ring again. */
static inline void sl_frame_spent(struct sl_frames *c, uint32_t frame)
{
	if (sl_frame_refs(frame) != 1 || sl_frames_spent(c) == SL_FRAME_SPENT) {
		sl_frame_put(c, frame);
		return;
	}
	sl_frame_own(frame, 0);
	c->spent[c->spent_tail++ & (SL_FRAME_SPENT - 1)] = frame;
}

/* The frame goes to the device, which holds one of its references until it is seen completed. how:
 * SL_FLIGHT_*. */
static inline void sl_frame_posted(uint32_t frame, uint8_t how)
{
	sl_store(&sl_pool.word[frame].flight, how);
}

/* The device is done with the frame. Call sl_frame_sent() next. */
static inline void sl_frame_landed(uint32_t frame)
{
	sl_store(&sl_pool.word[frame].flight, 0);
}

/* A sent frame of ours has come back: the device's reference is dropped (TCP may hold it until it
 * is acknowledged), and the sender's count of bytes under way goes down. */
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
