/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper: the library's one thread in a process. Rooms above give it jobs by a table. */
#ifndef SL_KEEPER_H
#define SL_KEEPER_H

#include "base/base.h"

/* When the keeper runs a job; several may be said. */
#define SL_JOB_ROUND  (1u << 0) /* in each round, before it sleeps */
#define SL_JOB_SECOND (1u << 1) /* once a second */
#define SL_JOB_WOKEN  (1u << 2) /* each time that it wakes */
#define SL_JOB_EVENTS (1u << 3) /* after it has served its descriptors */
#define SL_JOB_READER (1u << 4) /* a process has written a wish to the file of the counters */
#define SL_JOB_SYSCTL (1u << 5) /* a file in /proc/sys/net/ipv4 was written */

#define SL_JOB_SECOND_NS 1000000000ull

struct sl_job {
	const char *name;
	uint8_t when; /* SL_JOB_* */
	/* The keeper calls the first that is not NULL, with no lock held. It must not block. */
	void (*run)(void);
	void (*run_at)(uint64_t now_ns);
	/* When the job needs a round, 0: at no time; in ns of sl_now_ns(). quiet: nothing has
	 * happened for a second, and the keeper would sleep without a tick. May be NULL. */
	uint64_t (*due_ns)(uint64_t now_ns, bool quiet);
};

/* Before the first start. The keeper runs the jobs in the table's order. */
void sl_keeper_set_jobs(const struct sl_job *jobs, unsigned n);

/* Has the keeper call on_event() when fd has one of the events (EPOLL*); again for the same fd:
 * with other events. Before the keeper starts, or from the keeper. */
void sl_keeper_watch_fd(int fd, uint32_t events, void (*on_event)(uint32_t events));
void sl_keeper_unwatch_fd(int fd);

/* A start goes through these in this order. prepare: before anything else opens descriptors. open,
 * start: 0 or -errno. */
void sl_keeper_prepare(void);
int sl_keeper_open(void);
int sl_keeper_start(void);
/* Closes what the first two have opened: the start has failed, or the keeper has ended. */
void sl_keeper_close(void);
/* Ends the keeper before the process becomes another user; it may be started again. False: it does
 * not end (the caller is a signal handler that interrupted the code the keeper waits for). */
bool sl_keeper_stop(void);
bool sl_keeper_is_here(void); /* the calling thread is the keeper */
void sl_keeper_child(void);   /* after fork, in the child */

void sl_keeper_place(void); /* place.c: the calling thread is the keeper */

#endif
