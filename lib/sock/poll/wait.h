/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for many descriptors: what poll, select and epoll_wait have in common. First a look, then
 * polling of the lanes for SLUICE_SELECT_POLL microseconds, then sleep. */
#ifndef SL_WAIT_H
#define SL_WAIT_H

#include <poll.h>
#include <signal.h>
#include <time.h>

#include "base/base.h"
#include "base/stats.h"

struct sl_lane;
struct sl_bell;

/* Room that the owner of fds leaves behind its own entries: the bell and the lanes' descriptors. */
#define SL_WAIT_ROOM 66

/* Callbacks of a call that waits. check and lanes are called with no lock held. */
struct sl_wait_ops {
	/* Above 0: so much is ready; 0: nothing; -errno. os: ask the kernel, too. */
	int (*check)(void *arg, bool os);
	/* Calls sl_wait_lane() for each lane to turn. */
	void (*lanes)(void *arg);
	/* From now on (until cancel) ring the bell when something happens. */
	void (*arm)(void *arg, struct sl_bell *bell);
	void (*cancel)(void *arg);
	/* The thread begins (1) or ends (-1) polling, and needs no wake-up meanwhile. May be NULL.
	 */
	void (*spin)(void *arg, int change);
};

/* Counters of calls that wait: threads add without waiting for each other, and may lose a count. */
static inline void sl_wait_count(uint64_t *counter, int n)
{
	sl_store(counter, sl_load(counter) + (uint64_t)n);
}

/* How long a call may wait, and under which signal mask. */
struct sl_wait_time {
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; UINT64_MAX: none */
	uint64_t old_mask;
	const sigset_t *mask; /* the caller's, or NULL */
	bool masked;          /* it is in force, old_mask waits */
};

/* Recent answers of the kernel about its descriptors among those that are waited for; kept by a
 * set, or by a thread. Several threads may use it at once. */
struct sl_asks {
	uint32_t vain;  /* looks in a row that found nothing */
	uint64_t at_ns; /* the last one; kept up while they are in vain */
};
/* True: the last looks found nothing, so the kernel is asked when nothing of ours is ready, and
 * while a thread polls once in SL_ASK_NS (unless SLUICE_SELECT_POLL_OS_RATIO is set). */
bool sl_asks_are_vain(const struct sl_asks *a);
#define SL_ASK_NS 100000
/* True: a thread that polls, or has an answer, asks the kernel now. */
bool sl_asks_now(const struct sl_asks *a);
/* The kernel has been asked. */
void sl_asks_count(struct sl_asks *a, bool found);

/* The state of a call that waits; on the caller's stack. */
struct sl_wait {
	struct sl_wait_time time;
	const struct sl_wait_ops *ops;
	void *arg;
	struct sl_wait_stats *counts; /* of these calls */
	struct pollfd *fds; /* the kernel's descriptors to sleep on; SL_WAIT_ROOM more have room */
	unsigned nfds;
	bool spins;       /* polls now */
	bool os_later;    /* the first look need not ask the kernel; sl_wait_begin() says it must */
	bool stop_ends;   /* SIGSTOP and SIGCONT end the call; sl_wait_begin() says that they do not
			   */
	uint32_t sig_ran; /* sl_sig_ran when the call began */
	uint32_t stops;   /* sl_sig_stops then */
	uint32_t moves;   /* sl_lane_moves when the lanes were collected */
	unsigned nlanes;
	struct sl_bell *bell; /* prepared: to be put away when the thread is cancelled */
	struct sl_lane *lane[SL_STATS_LANES];
	uint32_t loads[SL_STATS_LANES]; /* for sl_lane_is_led() */
	bool follows[SL_STATS_LANES];   /* left to others in this sleep */
	bool sleeps;                    /* on the descriptors of the others */
};

/* timeout: NULL waits for ever; sigmask may be NULL. 0, or -EINVAL for a bad time. Fill ops, arg,
 * counts, fds and nfds in afterwards. */
int sl_wait_begin(struct sl_wait *w, const struct timespec *timeout, const sigset_t *sigmask);
/* Waits: check()'s result, 0 when the time is over, or -EINTR. A cancellation point. */
int sl_wait_run(struct sl_wait *w);
/* Puts the signal mask back. */
void sl_wait_end(struct sl_wait *w);
/* sl_wait_begin() and sl_wait_end() for a call that waits by other calls: time and mask alone. */
int sl_wait_time_begin(struct sl_wait_time *t, const struct timespec *timeout,
		       const sigset_t *sigmask);
void sl_wait_time_end(struct sl_wait_time *t);
/* Puts the caller's signal mask in force, as soon as a look has found nothing: a call that has an
 * answer leaves a blocked signal pending, like the kernel's. sig_ran: sl_sig_ran at the beginning.
 * 0, or -EINTR: a handler ran. sl_wait_run() calls it itself. */
int sl_wait_mask(struct sl_wait_time *t, uint32_t sig_ran);

/* The time that is left, 0 or more. False: there is no limit. */
bool sl_wait_left(const struct sl_wait_time *t, struct timespec *left);
struct sl_sock;
/* The events that poll(2) would report now (EPOLLIN | EPOLLOUT | EPOLLERR...), without lock or
 * system call. Data that the kernel holds for the shadow counts as soon as the keeper or a call has
 * seen it. */
uint32_t sl_sock_ready(const struct sl_sock *sk);
/* sl_sock_ready(), but events from the kernel's queue alone are verified with the kernel, since the
 * flag may be older than the last read. Any lock may be held. */
uint32_t sl_wait_sock_ready(struct sl_sock *sk);

/* Call it from ops->lanes. */
void sl_wait_lane(struct sl_wait *w, struct sl_lane *lane);

/* sl_poll() without the limit that poll(2) has for its list (RLIMIT_NOFILE). poll.c */
int sl_wait_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		 const sigset_t *sigmask);

#endif
