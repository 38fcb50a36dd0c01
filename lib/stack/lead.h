/* SPDX-License-Identifier: BSD-2-Clause */
/* Leaders and followers: one thread of a busy lane watches its descriptors for the others.
 * sl_waits_ended is in stack.c. */
#ifndef SL_LEAD_H
#define SL_LEAD_H

#include "base/lock.h"
#include "stack/lane.h"

/* A packet wakes every thread that sleeps on a lane's descriptors. To avoid that, a thread follows
 * while another thread uses the lane heavily: it sleeps on its own bell only and checks from time
 * to time (SL_FOLLOW_NS) that the other still does. The leader sleeps on the descriptors, works or
 * spins. loads: lane->loads at the last check, updated. */
static inline bool sl_lane_is_led(const struct sl_lane *lane, uint32_t *loads)
{
	uint32_t before = *loads, leader = sl_load(&lane->leader);

	*loads = sl_load(&lane->loads);
	return sl_load(&lane->hot) && leader && leader != sl_tid() && *loads != before;
}

/* Makes this thread the leader: its wait ended with packets. A thread with fewer than
 * SL_LEADS_AFTER such waits cannot lead: it may serve one connection and exit, and its followers
 * would notice late. */
extern __thread uint32_t sl_waits_ended __attribute__((tls_model("initial-exec")));
#define SL_LEADS_AFTER 16u
static inline void sl_lane_lead(struct sl_lane *lane)
{
	uint32_t me = sl_tid();

	if (sl_unlikely(sl_waits_ended < SL_LEADS_AFTER)) {
		sl_waits_ended++;
		return;
	}
	if (sl_load(&lane->leader) != me)
		sl_store(&lane->leader, me);
}

/* Gives up the lead: this thread closes a socket and may never wait again. */
static inline void sl_lane_leave(struct sl_lane *lane)
{
	if (sl_load(&lane->leader) == sl_tid())
		sl_store(&lane->leader, 0);
}

/* Initial *loads for sl_lane_is_led(), so that any load counts. */
static inline uint32_t sl_lane_no_loads(const struct sl_lane *lane)
{
	return sl_load(&lane->loads) - 1;
}

/* Starts following: returns how long the thread may sleep before it calls sl_lane_unfollow(). Two
 * followers check often; the others (even a thousand) rely on these two and on the keeper, which
 * receives what no other thread does. */
#define SL_FOLLOW_NS      1000000
#define SL_FOLLOW_LATE_NS 10000000
static inline uint64_t sl_lane_follow(struct sl_lane *lane)
{
	uint32_t n = __atomic_fetch_add(&lane->followers, 1, __ATOMIC_RELAXED);

	return n < 2 ? SL_FOLLOW_NS : SL_FOLLOW_LATE_NS * (1 + sl_min(n, 512u) / 8ull);
}
static inline void sl_lane_unfollow(struct sl_lane *lane)
{
	__atomic_fetch_sub(&lane->followers, 1, __ATOMIC_RELAXED);
}

/* A thread that is about to sleep on the lane's descriptors, or has done so: the keeper leaves the
 * lane to it. */
static inline void sl_lane_asleep(struct sl_lane *lane)
{
	__atomic_fetch_add(&lane->sleepers, 1, __ATOMIC_RELAXED);
}
static inline void sl_lane_awake(struct sl_lane *lane)
{
	__atomic_fetch_sub(&lane->sleepers, 1, __ATOMIC_RELAXED);
}

#endif
