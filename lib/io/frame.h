/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory: one pool of equal frames, the UMEM of every XSK of the group (and the MR of a
 * verbs queue). A frame is a number. Each lane keeps some frames in a cache, and trades with the
 * pool in batches. */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include "base/base.h"
#include "base/share/share.h"

#define SL_FRAME_CACHE 512
#define SL_FRAME_BATCH 128
#define SL_FRAME_SPENT 512 /* power of two */
#define SL_FRAME_FLOOR 64  /* frames of a lane's cache that no queue takes */

/* A frame that is being sent counts against its sender's bytes under way. */
struct sl_frame_charge {
	uint32_t *wmem; /* the sender's count; never unmapped; atomic. NULL: not counted */
	uint32_t bytes;
	uint32_t tag; /* the sender's mark of a packet that waits (pace.h), or SL_FRAME_FILLED; 0:
			 none */
};
/* The program fills the frame itself, and has a reference to it: headers may be written in front of
 * its bytes. */
#define SL_FRAME_FILLED 1u

struct sl_pool {
	uint8_t *base;
	uint32_t nframes;
	uint32_t shift;            /* log2 of the frame size */
	uint32_t mtu;              /* bytes of the longest IP packet that a frame can receive */
	uint8_t me;                /* our number in the group */
	uint32_t free_word;        /* the word of a frame of ours that nobody holds */
	union sl_frame_word *word; /* one for each frame; shared */
	struct sl_frame_charge *charge; /* one for each frame; NULL: sends are not counted */
	struct sl_share share;
};
extern struct sl_pool sl_pool;

/* How scarce frames are, measured by how many a lane could still get. The last ones are a reserve
 * that no queue takes: fill rings and segments without data get them. */
enum sl_scarcity {
	SL_PLENTY,   /* a quarter of the member's quota or more is left */
	SL_SCARCE,   /* less: small packets are copied together, and queues should be short */
	SL_SHORT,    /* less than an eighth: data that a peer can send again are dropped */
	SL_RESERVED, /* less than a sixteenth: a queue gets a frame only if it has none */
	SL_SPENT     /* less than half of that: no queue gets one */
};

/* A lane's frames; used under the lane's lock. */
struct sl_frames {
	uint32_t n;
	uint32_t idx[SL_FRAME_CACHE]; /* free frames, last in first out */
	/* Received frames that are no longer needed, in the order in which they came, for the fill
	 * ring: its frames then lie in memory one after the other, which the processor prefetches.
	 * Frames for sending are taken last in, first out, and stay in its cache. */
	uint32_t spent_head, spent_tail;
	uint32_t spent[SL_FRAME_SPENT];
	/* Frames received minus frames put into fill rings; the group was not told of them yet. */
	int32_t gained;
	uint8_t scarcity; /* enum sl_scarcity, when frames were traded last */
	/* So many frames of idx are reserved for fill rings and segments without data; fill
	 * rings leave half of them. 0: the lane has no leg and needs no reserve, so it is never
	 * SL_SPENT. */
	uint8_t floor;
	uint32_t queue_bytes; /* of packets that the kernel keeps for want of frames, at most */
	/* The open scrap frame, into which small packets are copied one behind the other: its
	 * number + 1, 0: none; and where the last one ends. */
	uint32_t scrap;
	uint32_t scrap_at;
};

/* Makes sl_pool the pool of the group g, which is copied. base: memory of the frames; mtu: longest
 * IP packet that a frame has room for; member: our number in the group. 0 or -ENOMEM. */
int sl_pool_attach(uint8_t *base, uint32_t mtu, const struct sl_share *g, uint8_t member);
/* Moves frames from the pool into the cache, or else from the spent ones; returns how many. */
uint32_t sl_frames_fetch(struct sl_frames *c);
/* Gives the pool all spent frames, and the frames of the cache but for `keep`. keep 0 also closes
 * the scrap frame. */
void sl_frames_flush(struct sl_frames *c, uint32_t keep);
/* Drops the lane's own reference to the open scrap frame, if there is one: nothing more is copied
 * into that frame (scrap.c). */
void sl_frames_close_scrap(struct sl_frames *c);

/* Frames that we could still get from the pool. */
static inline uint32_t sl_frames_left(void)
{
	return sl_share_left_to(&sl_pool.share, sl_pool.me);
}

/* Finds out how scarce frames are now, and remembers it in c->scarcity. */
enum sl_scarcity sl_frames_look(struct sl_frames *c);

uint32_t sl_frames_spare(const struct sl_frames *c); /* could be taken before they are scarce */
/* sl_frames_look() for the packet path: looks only while frames are scarce. sl_frames_count(),
 * which is called after each trade with the pool, finds out when they become scarce. */
static inline enum sl_scarcity sl_frames_scarcity(struct sl_frames *c)
{
	return sl_likely(c->scarcity == SL_PLENTY) ? SL_PLENTY : sl_frames_look(c);
}

/* Tells the group about c->gained. */
static inline void sl_frames_count(struct sl_frames *c)
{
	sl_share_count(&sl_pool.share, sl_pool.me, c->gained);
	c->gained = 0;
	sl_frames_look(c);
}

/* The frame's memory. */
static inline uint8_t *sl_frame_ptr(uint32_t frame)
{
	return sl_pool.base + ((size_t)frame << sl_pool.shift);
}

static inline uint16_t sl_frame_refs(uint32_t frame)
{
	return sl_load_acquire(&sl_pool.word[frame].refs);
}

/* Makes the frame ours, with so many references. */
static inline void sl_frame_own(uint32_t frame, uint16_t refs)
{
	sl_store(&sl_pool.word[frame].all, sl_pool.free_word | SL_FRAME_REFS(refs));
}

/* Takes a free frame, with one reference, for a queue. SL_NO_FRAME: only the reserve is left. */
static inline uint32_t sl_frame_get(struct sl_frames *c)
{
	uint32_t f;

	if (sl_unlikely(c->n <= c->floor) && (sl_frames_fetch(c) == 0 || c->n <= c->floor))
		return SL_NO_FRAME;
	f = c->idx[--c->n];
	sl_frame_own(f, 1);
	return f;
}

uint32_t sl_frame_get_spent(struct sl_frames *c); /* to receive into: spent frames come first */
/* sl_frame_get() for a packet that is sent at once and comes back: also takes from the reserve. */
static inline uint32_t sl_frame_get_last(struct sl_frames *c)
{
	uint32_t f;

	if (sl_unlikely(c->n == 0) && sl_frames_fetch(c) == 0)
		return SL_NO_FRAME;
	f = c->idx[--c->n];
	sl_frame_own(f, 1);
	return f;
}

/* Puts a frame that nobody holds into the cache. */
static inline void sl_frame_free(struct sl_frames *c, uint32_t frame)
{
	if (sl_unlikely(c->n == SL_FRAME_CACHE)) {
		sl_frames_flush(c, SL_FRAME_CACHE / 2);
		/* This is a signal handler that interrupted the pool's lock: the frame is lost. */
		if (c->n == SL_FRAME_CACHE)
			return;
	}
	sl_frame_own(frame, 0);
	c->idx[c->n++] = frame;
}

/* Counts a frame that is about to be sent in *wmem, until it has come back. */
static inline void sl_frame_charge(uint32_t frame, uint32_t *wmem, uint32_t bytes)
{
	sl_pool.charge[frame] = (struct sl_frame_charge){wmem, bytes, 0};
	__atomic_fetch_add(wmem, bytes, __ATOMIC_RELAXED);
}

/* Adds a reference; any lane may call it. */
static inline void sl_frame_ref(uint32_t frame)
{
	__atomic_fetch_add(&sl_pool.word[frame].refs, 1, __ATOMIC_RELAXED);
}

/* Adds a reference to a frame when the caller has the only one. */
static inline void sl_frame_ref_single(uint32_t frame)
{
	sl_store(&sl_pool.word[frame].refs, 2);
}

/* Drops a reference; the last one frees the frame. A single holder needs no atomic operation, since
 * nobody else can add a reference. */
static inline void sl_frame_put(struct sl_frames *c, uint32_t frame)
{
	if (sl_frame_refs(frame) == 1 ||
	    __atomic_sub_fetch(&sl_pool.word[frame].refs, 1, __ATOMIC_ACQ_REL) == 0)
		sl_frame_free(c, frame);
}

/* Number of spent frames. */
static inline uint32_t sl_frames_spent(const struct sl_frames *c)
{
	return c->spent_tail - c->spent_head;
}

/* True: a queue that holds so many frames may have no more. It may have 1/divisor of what is left
 * (Choudhury and Hahne, 1998: a queue that is not read starves no other); sharers: about how many
 * queues share that once frames are scarce. */
bool sl_frames_is_over(struct sl_frames *c, uint32_t held, uint32_t divisor, uint32_t sharers);

#define SL_QUEUE_FRAMES 16 /* frames that a queue may always hold while there are plenty */

/* Takes the oldest spent frame; there must be one. */
static inline uint32_t sl_frame_take_spent(struct sl_frames *c)
{
	return c->spent[c->spent_head++ & (SL_FRAME_SPENT - 1)];
}

/* sl_frame_put() for a received frame that is no longer needed: it goes into the fill ring
 * again. */
static inline void sl_frame_spent(struct sl_frames *c, uint32_t frame)
{
	if (sl_frame_refs(frame) != 1 || sl_frames_spent(c) == SL_FRAME_SPENT) {
		sl_frame_put(c, frame);
		return;
	}
	sl_frame_own(frame, 0);
	c->spent[c->spent_tail++ & (SL_FRAME_SPENT - 1)] = frame;
}

/* Notes that the device gets the frame. The device holds one reference until we see the frame
 * completed. how: SL_FLIGHT_*. */
static inline void sl_frame_posted(uint32_t frame, uint8_t how)
{
	sl_store(&sl_pool.word[frame].flight, how);
}

/* Notes that the device is done with the frame. Call sl_frame_sent() next. */
static inline void sl_frame_landed(uint32_t frame)
{
	sl_store(&sl_pool.word[frame].flight, 0);
}

/* Takes a sent frame of ours back: drops the device's reference (TCP may hold another until the
 * data are acknowledged), and lowers the sender's count of bytes under way. */
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
