/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory by which the processes of a group share packet memory and rings: the owner of each
 * frame, the pool of free frames, and the state of each queue's fill and completion ring. A process
 * with a broker of its own is a group of one, by the same code.
 *
 * Theory of operation: a *frame* is a number; its word names its owner.
 *
 *  - owner 0, flight 0, refs 0: without owner, in the pool
 *  - owner 0, flight 0, refs q + 1: without owner, given to the fill ring of queue q: there, with
 *    the device, or in a receive ring, not taken yet. The number q tells sl_share_reclaim() which
 *    frames to give to the pool when the queue was closed
 *  - owner m, refs 0: in a cache of member m, free
 *  - owner m, refs n: held by m: received, being written, queued in sockets
 *  - owner m, flight 1: posted by m: one of the references is the device's, until m has seen the
 *    completion. A frame is posted again only after that, so one bit is enough
 *  - owner m, flight 2: posted by m to a queue pair of the NIC's, which m alone uses. The pair and
 *    its completions end with m, at the latest when the kernel closes m's last descriptor of it.
 *    So the burial waits a little for that (sl_share_posted()), then gives the frames back
 *  - owner 0, flight 1: an orphan: posted by a member that is dead. The member that finds it in the
 *    completion ring becomes its owner
 *
 * Bounce frames (share_bounce.h) are in no pool and in no cache; their words are 0 while they are
 * free.
 *
 * The owner alone writes a word, with two exceptions: a member that takes a frame without owner
 * (the pool's lock, the queue's lock or its own receive ring give the right), and the broker that
 * buries the owner. So only `refs` needs atomic operations, for several lanes of one process.
 *
 * A queue's rings are worked under its lock; the packet path only tries to take that. A completed
 * frame is often another member's: then it goes on the list of that member and queue, which is
 * linked through link[] and so never full. The owner looks at the list, under the same lock, when
 * it reaps the queue next. No member waits for the owner.
 *
 * A member may die (SIGKILL) between any two instructions. The kernel stops it there: what it
 * stored before is there, what comes after is not, so only the compiler's order counts
 * (sl_share_step()). The broker buries it (sl_share_bury()), always after its last store. Each
 * operation has an order of stores by which the repair can tell how far it came:
 *
 *  - pool, taking (sl_share_fetch): owner into the words; then born raised and nfree lowered. In
 *    between a frame on the stack, or beyond born, has an owner. The repair of the lock clears it.
 *  - pool, giving (sl_share_push): entries; nfree raised; owner out of the words. In between and
 *    in the repair, the same as for taking.
 *  - fill ring: address into the entry; fill_to raised; the queue's name into the word; at the end
 *    the producer published = fill_to. The repair writes the words of the entries between
 *    producer and fill_to and publishes.
 *  - receive ring: owner into the words; then the consumer released. The burial takes entries whose
 *    word has no owner.
 *  - transmit ring (xsk_post): entries; tx_to = their end; flight into the words; producer
 *    published = tx_to. The burial takes the flight out of entries between producer and tx_to:
 *    these were never sent.
 *  - completion ring: flight out of the word (own frame), or on its owner's list, or adopted;
 *    comp_to raised; the reference dropped; at the end the consumer released = comp_to. The entry
 *    at comp_to is the only doubtful one. It was dealt with if its flight is gone
 *    (it is not posted again before the reference is dropped), or if it is the head of its
 *    owner's list. The repair releases up to comp_to, or one more.
 *
 * Frames of a dead member in caches, sockets and elsewhere are found by a walk over the words. The
 * burial itself may be broken off anywhere and begun again.
 *
 * A member that is stopped inside a queue's lock (a window of a microsecond) keeps all members from
 * refilling and reaping that queue; the others live on the frames in its rings, half of their size,
 * until the owner sees the stop (share_watch.c) and the group ends.
 *
 * Fill rings can always be filled: at its quota a member gets no frame from the pool, and its
 * sockets queue no further packet (sl_share_left_to()), so a slow or stopped member keeps at most
 * its quota and what its receive rings hold. sl_share_join() promises a quota only while the sum of
 * all quotas leaves the frames that these and the fill rings need. A dead member keeps nothing.
 *
 * Members trust each other: each can write all of this memory. The group's owner believes none of
 * it: the layout and its decisions are in memory of its own (share_geometry.h), it reads indices
 * and ends once and bounds them, and it waits for no lock (share_watch.c). */
#ifndef SL_SHARE_H
#define SL_SHARE_H

#include <linux/if_xdp.h>

#include "base/base.h"
#include "base/share/rlock.h"
#include "base/share/share_geometry.h"

#define SL_SHARE_VERSION 5
#define SL_SHARE_BROKER  127 /* the broker's member number: it has no XSKs */
#define SL_NO_FRAME      UINT32_MAX

/* Compiler barrier: stores before it are done before stores after it, also if SIGKILL hits. */
#define sl_share_step() __asm__ volatile("" ::: "memory")

union sl_frame_word {
	uint32_t all;
	struct {
		uint16_t refs;
		uint8_t flight; /* 0, SL_FLIGHT_* */
		uint8_t owner;
	};
};

#define SL_FLIGHT_XSK 1
#define SL_FLIGHT_QP  2

#define SL_FRAME_REFS(n) (((union sl_frame_word){.refs = (n)}).all)

enum sl_queue_state {
	SL_QUEUE_FREE,
	SL_QUEUE_OPEN,
	SL_QUEUE_CLOSED, /* no process works it; its frames still carry its name */
};
enum sl_member_state { SL_MEMBER_FREE, SL_MEMBER_LIVE, SL_MEMBER_DEAD };

struct sl_share_member {
	int32_t held; /* its frames, without the last few received or given away; atomic */
	uint32_t reserved[3];
};

struct sl_share_queue {
	struct sl_rlock lock; /* protects what follows, and the rings */
	uint32_t fill_to;     /* the fill ring's producer once the current refill is done */
	uint32_t comp_to;     /* the completion ring's consumer once the current reaping is done */
	/* Frames of each member that others found completed: number + 1 of the first, 0: none. */
	uint32_t back[SL_SHARE_MEMBERS];
} SL_ALIGNED;

/* An XSK of a member; its lane's. */
struct sl_share_xsk {
	uint32_t tx_to; /* the transmit ring's producer once the current posting is done */
} SL_ALIGNED;

/* The first bytes of the memory: the pool. */
struct sl_share_head {
	struct sl_rlock lock SL_ALIGNED; /* protects what follows */
	uint32_t nfree;                  /* entries of the stack of free frames */
	uint32_t born; /* frames from here on were never used: their memory is untouched */
};

/* The group's memory as a process has it mapped; set once, from the geometry. */
struct sl_share {
	struct sl_share_head *head;
	struct sl_share_member *member;
	struct sl_share_queue *queue;
	struct sl_share_xsk *xsk;
	union sl_frame_word *word; /* for each frame */
	uint32_t *link;            /* for each frame: the next on its list, number + 1 */
	uint32_t *free;            /* the stack */
	/* Told by the group's owner: only the owner can write there. */
	struct sl_share_told *told;
	struct sl_share_told_queue *told_queue;
	struct sl_share_told_xsk *told_xsk;
	uint32_t nframes, shift, nqueues, nxsks;
	bool wary; /* no lock is waited for: the owner of a group of others, a member of a broken
		      one */
};

/* A fill or completion ring, as mapped from an XSK. */
struct sl_share_ring {
	uint32_t *producer, *consumer, *flags;
	uint64_t *addr; /* the entries */
	uint32_t size;  /* power of two */
};

static inline struct sl_share_ring sl_share_ring_at(void *map, const struct xdp_ring_offset *o,
						    uint32_t size)
{
	char *p = map;

	return (struct sl_share_ring){
		.producer = (uint32_t *)(p + o->producer),
		.consumer = (uint32_t *)(p + o->consumer),
		.flags = (uint32_t *)(p + o->flags),
		.addr = (uint64_t *)(p + o->desc),
		.size = size,
	};
}

/* Makes a group in memory that is all zeros and begins at a cache line; told likewise. */
void sl_share_init(struct sl_share *g, void *mem, void *told, const struct sl_share_geometry *l);
/* Opens an existing group. l has been checked; mem and told have the sizes it gives. */
void sl_share_map(struct sl_share *g, void *mem, void *told, const struct sl_share_geometry *l);

/* Takes up to want frames for a member, the most recent ones of the pool first; how many. 0 also
 * when this thread holds the pool's lock (in a signal handler), or another one never releases it.
 */
uint32_t sl_share_fetch(struct sl_share *g, uint8_t me, uint32_t *frames, uint32_t want);
/* Gives frames to the pool, which is locked, and does not count them. */
void sl_share_push(struct sl_share *g, const uint32_t *frames, uint32_t n);
/* Adds n to the frames that a member holds. sl_share_fetch() counts by itself. */
void sl_share_count(struct sl_share *g, uint8_t me, int32_t n);
/* Takes a record for a queue, or for an XSK (the broker does): its number, or -ENOSPC. */
int sl_share_queue_open(struct sl_share *g, uint32_t ifindex, uint32_t nr);
/* Closes the record; sl_share_reclaim() takes its frames back later. */
void sl_share_queue_close(struct sl_share *g, uint32_t queue);
int sl_share_xsk_open(struct sl_share *g, uint32_t queue);
void sl_share_xsk_close(struct sl_share *g, uint32_t xsk);

/* The finder saw a frame in the completion ring that is not its own; queue locked. The frame goes
 * on its owner's list (false), or, when it has no owner any more, becomes the finder's, free
 * (true). */
bool sl_share_return(struct sl_share *g, struct sl_share_queue *q, uint8_t me, uint32_t frame);
/* The next frame of member me that other members found completed, or SL_NO_FRAME. Queue locked. */
uint32_t sl_share_returned(struct sl_share *g, struct sl_share_queue *q, uint8_t me);

/* The word of a frame that this queue's fill ring was given. */
static inline uint32_t sl_share_filled(const struct sl_share *g, const struct sl_share_queue *q)
{
	return SL_FRAME_REFS((uint16_t)(q - g->queue + 1));
}

/* Admits a member, which may hold that many frames: its number, or -EUSERS, or -ENOSPC: if all
 * members used their quotas, fewer than `spare` frames would be left. */
int sl_share_join(struct sl_share *g, uint32_t quota, uint32_t spare);
/* Queues in use, for which frames are wanted: one at least. */
static inline uint32_t sl_share_queues(const struct sl_share *g)
{
	return sl_max(sl_load(&g->told->open), 1u);
}

/* Frames that a member could still get. */
static inline uint32_t sl_share_left(const struct sl_share *g)
{
	return sl_load(&g->head->nfree) + (g->nframes - sl_load(&g->head->born));
}

/* Frames that a member may still take: sl_share_left(), limited by its quota. */
static inline uint32_t sl_share_left_to(const struct sl_share *g, uint8_t me)
{
	int64_t mine = (int64_t)sl_load(&g->told->member[me].quota) - sl_load(&g->member[me].held);
	int64_t left = sl_share_left(g);

	mine = sl_max(mine, 0l);
	return (uint32_t)sl_min(mine, left);
}

/* Takes a lock of the group's: a member waits for it as sl_rlock() does, the wary only tries. */
static inline bool sl_share_lock(const struct sl_share *g, struct sl_rlock *l, uint8_t me)
{
	return g->wary ? sl_rlock_try(l, me) : sl_rlock(l, me);
}

#endif
