/* SPDX-License-Identifier: BSD-2-Clause */
/* Readiness of sockets: watchers of a socket are told of each edge. Blocking calls, poll, select
 * and epoll all stand on this. */
#ifndef SL_READY_H
#define SL_READY_H

#include <sys/epoll.h>

#include "base/list.h"
#include "base/settings.h"

struct sl_sock;

/* Bits beside EPOLL*: the socket leaves our hands, or is on another lane. (No bits at all: it may
 * be ready for anything now.) */
#define SL_READY_GONE    (1u << 24) /* closed: the watch has been taken off */
#define SL_READY_DEMOTED (1u << 25) /* now the kernel's alone: the watch has been taken off */
#define SL_READY_MOVED   (1u << 26) /* waiters watch the old lane; it is as ready as before */

/* A watcher of a socket. on_event is called with the lane's lock held, in any thread: it must not
 * block, and the locks that it takes must not be held during calls into a lane. */
struct sl_watch {
	struct sl_list node;
	struct sl_sock *sk;   /* NULL when it is on no socket */
	struct sl_sock *home; /* the socket it was last on: whose lane orders us with on_event */
	void (*on_event)(struct sl_watch *w, uint32_t events);
};

void sl_watch_add(struct sl_sock *sk, struct sl_watch *w); /* takes the lane's lock */
void sl_watch_del(struct sl_watch *w);                     /* takes the lane's lock; idempotent */

/* Tells the watchers; lane's lock held. */
void sl_sock_notify(struct sl_sock *sk, uint32_t events);

/* A thread's bell: an eventfd made at first use. To sleep, a thread calls sl_bell_prepare(), checks
 * its conditions once more, calls sl_bell_sleep(), polls fd among others if that was true, and then
 * calls sl_bell_done(). A ring is cheap when no thread sleeps. */
enum sl_bell_state { SL_BELL_AWAKE, SL_BELL_LISTENS, SL_BELL_ASLEEP, SL_BELL_RUNG };
struct sl_bell {
	int fd;         /* -1: could not be had; sleep with short time-outs then */
	uint32_t state; /* enum sl_bell_state; atomic */
	uint64_t owed;  /* rings that were not read off fd yet; the sleeper's */
	/* In the list of all bells; the thread's counts of sig.h. ran is NULL: it is not there. */
	struct sl_list node;
	uint32_t *ran, *intr;
};
struct sl_bell *sl_bell_get(void); /* this thread's */
/* Before a thread waits, by polling or asleep: a SIGINT finds it then (SLUICE_HANDLE_SIGINTR). */
static inline void sl_bell_wait_begin(void)
{
	if (sl_unlikely(sl_settings.handle_sigintr))
		sl_bell_get();
}
void sl_bell_child(void); /* after fork, in the child: it gets a new one */
void sl_bell_prepare(struct sl_bell *b);
bool sl_bell_sleep(struct sl_bell *b); /* false: it rang meanwhile, prepare and look again */
void sl_bell_done(struct sl_bell *b);  /* also empties the eventfd */
void sl_bell_ring(struct sl_bell *b);
/* Rings those of all threads. Call when descriptors of lanes were closed: a thread that sleeps on
 * them keeps the sockets behind them alive, and so a device's queue from being bound anew. */
void sl_bells_ring(void);

/* Poll events for data that still lies in our queues after a hand-back to the kernel. No lock. */
uint32_t sl_sock_left(const struct sl_sock *sk);

#endif
