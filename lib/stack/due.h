/* SPDX-License-Identifier: BSD-2-Clause */
/* When the keeper must be awake, and what TCP leaves to it (due.c). */
#ifndef SL_DUE_H
#define SL_DUE_H

#include "base/base.h"
#include "base/settings.h"
#include "net/net.h"
#include "stack/lane.h"

/* Lowers *next of a held lane to next_us. Wakes the keeper if it would otherwise sleep more than
 * late_us beyond that. */
void sl_lane_due(uint64_t *next, uint64_t next_us, uint64_t late_us);
/* True: timers of the lane must run at that time. Any thread. */
bool sl_lane_is_due(const struct sl_lane *lane, uint64_t at_us);

/* True: paced packets wait. Any thread. */
static inline bool sl_lane_is_paced(const struct sl_lane *lane)
{
	return sl_load(&lane->paced);
}

/* Wakes the keeper in time to fetch a transmit stamp that no other thread may fetch. Lane held. */
void sl_lane_await(struct sl_lane *lane);
/* Sets lane->watched: the keeper must check a send queue with packets under way. Lane held. */
void sl_lane_watch(struct sl_lane *lane);
/* Wakes the keeper if lane->expects and no thread would see the peer's next segment come: the
 * keeper then watches the lane's descriptors. Lane held or not. */
void sl_lane_expect(const struct sl_lane *lane);
/* Call when a thread that made the lane's turns goes on to something else. Lane not held. */
static inline void sl_lane_left(const struct sl_lane *lane)
{
	if (sl_unlikely(sl_load(&lane->expects) && !sl_load(&lane->attended)))
		sl_lane_expect(lane);
}

/* Called by the keeper before it sleeps, at least until least_us and at most until until_us.
 * Returns when it must wake to run timers; arming a nearer timer wakes it earlier. For lanes that
 * other threads turn (they run TCP timers themselves) it does not wake before turned_us. It checks
 * watched lanes at watch_us. */
uint64_t sl_lanes_sleep(uint64_t until_us, uint64_t least_us, uint64_t turned_us,
			uint64_t watch_us);
void sl_lanes_awake(void);
void sl_lanes_due_child(void); /* in a child of fork: there is no keeper */

/* SLUICE_TCP_CTL_THREAD ----------------------------------------------------------------------- */

/* The calling thread is the keeper. */
extern __thread bool sl_here_is_keeper __attribute__((tls_model("initial-exec")));

/* True: this thread must not run TCP's timers. */
static inline bool sl_lane_leaves_timers(void)
{
	return sl_unlikely(sl_settings.tcp_ctl_thread) && !sl_here_is_keeper;
}

/* A segment for a listener that belongs to no connection. True: the keeper will deliver it, and has
 * the frame. False: it is for the caller, and nothing older waits. Lane held. */
bool sl_lane_later(struct sl_lane *lane, struct sl_in *in);
/* Delivers what waits. Lane held; the lane's host has the time. */
void sl_lane_deliver_later(struct sl_lane *lane);

#endif
