/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock in memory that several processes share, which can be taken from a dead one.
 *
 * The holder's number is the word itself: the member of the group (share.h) and the thread. Thread
 * ids of two members may be equal (PID namespaces), so only the member tells whether the
 * holder is dead. The broker that buries it takes the lock with sl_rlock_inherit(), mends what it
 * protects, and releases it. We cannot use robust futexes (set_robust_list(2)): the kernel has one
 * list for each thread, and the C library uses that. */
#ifndef SL_RLOCK_H
#define SL_RLOCK_H

#include "base/base.h"
#include "base/lock.h"

struct sl_rlock {
	uint32_t word; /* 0: free; else member << 22 | thread id, and SL_RLOCK_SLEEPERS */
};
#define SL_RLOCK_SLEEPERS (1u << 31)
#define SL_RLOCK_SHIFT    22 /* thread ids are below (PID_MAX_LIMIT); members are 8 bits */

/* Waits a bounded time: for a thread of our own process 40 s. False: the lock did not become free.
 */
bool sl_rlock_slow(struct sl_rlock *l, uint32_t me);
void sl_runlock_slow(struct sl_rlock *l);
/* Takes the lock by a bounded number of tries, without sleeping, whatever stands in its word: for
 * the group's owner, which serves others, too, and tries again later. */
bool sl_rlock_try(struct sl_rlock *l, uint8_t me);
/* Takes the lock from the dead member. True: the caller (as member me) holds it now. */
bool sl_rlock_inherit(struct sl_rlock *l, uint8_t me, uint8_t dead);

static inline uint32_t sl_rlock_me(uint8_t member)
{
	return (uint32_t)member << SL_RLOCK_SHIFT | sl_tid();
}

/* The member that such a word names; above SL_SHARE_MEMBERS: no lock of ours wrote it. */
static inline uint32_t sl_rlock_named(uint32_t word)
{
	return (word & ~SL_RLOCK_SLEEPERS) >> SL_RLOCK_SHIFT;
}

/* The member that holds it, 0: none. */
static inline uint8_t sl_rlock_holder(const struct sl_rlock *l)
{
	return (uint8_t)(sl_load(&l->word) >> SL_RLOCK_SHIFT);
}

/* Takes the lock if it is free. */
static inline bool sl_rtrylock(struct sl_rlock *l, uint8_t member)
{
	uint32_t word = 0;

	sl_hold();
	if (sl_likely(__atomic_compare_exchange_n(&l->word, &word, sl_rlock_me(member), false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return true;
	sl_release();
	return false;
}

/* Takes the lock. False: this thread holds it already (we are in a signal handler), or its holder
 * does not come back. */
static inline bool sl_rlock(struct sl_rlock *l, uint8_t member)
{
	uint32_t word = 0, me = sl_rlock_me(member);

	sl_hold();
	if (sl_likely(__atomic_compare_exchange_n(&l->word, &word, me, false, __ATOMIC_ACQUIRE,
						  __ATOMIC_RELAXED)))
		return true;
	if ((word & ~SL_RLOCK_SLEEPERS) != me && sl_rlock_slow(l, me))
		return true;
	sl_release();
	return false;
}

static inline void sl_runlock(struct sl_rlock *l)
{
	if (sl_unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) & SL_RLOCK_SLEEPERS))
		sl_runlock_slow(l);
	sl_release();
}

#endif
