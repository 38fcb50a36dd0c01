/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of epoll sets; for the epoll*.c files.
 *
 * Theory of operation: the program's descriptor is a kernel epoll set that holds every member that
 * is not ours. Offloaded sockets, and other sets of ours, are members here in user space: an item
 * that watches them, and a ready list, as in the kernel's fs/eventpoll.c. epoll_wait merges both.
 *
 * Locks, in the order they may be taken:
 *	ctl		one change of a set at a time; items are freed under it alone
 *	a lane's	(ctl may call into lanes; the callbacks below come with the lane held)
 *	sl_nest_lock	the watchers of each set
 *	lock		of the outer set: items, ready list, sleepers
 *	lock		of the inner set (sl_epoll_ready() of a member)
 * A signal handler may interrupt a holder on its own thread and get a callback: it leaves the event
 * in `missed`, and the holder looks there when it lets go.
 *
 * Sets are type-stable: a pointer from the table may be looked at any time, and is good once
 * sl_epoll_enter() has said so. */
#ifndef SL_EPOLL_H
#define SL_EPOLL_H

#include "base/lock.h"
#include "sock/poll/sets.h"
#include "sock/poll/wait.h"
#include "sock/core/sock.h"
#include "sock/core/ready.h"

/* Flags of a registration that are not events (the kernel's EP_PRIVATE_BITS). */
#define SL_EP_PRIVATE (EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE)

/* A member that is ours. */
struct sl_epitem {
	struct sl_list ready;   /* in the set's ready list */
	struct sl_list node;    /* in the set's items, or in dead */
	struct sl_epitem *next; /* of the hash chain */
	struct sl_epoll *ep;
	struct sl_sock *sk;     /* what it stands for: a socket, */
	struct sl_epoll *inner; /* or a set */
	union {
		struct sl_watch watch;           /* of sk */
		struct sl_epoll_watch set_watch; /* of inner */
	};
	uint64_t data;
	uint32_t events; /* no bits but SL_EP_PRIVATE: disabled by ONESHOT */
	uint32_t missed; /* events left by a signal handler; atomic */
	int fd;
	bool dead;     /* off the set; freed by the next change of it */
	bool leftover; /* the kernel's now, and we have data that came before */
	bool silent;   /* the kernel's now, but not in its set: give_to_kernel() */
	bool os_ready; /* a set: the kernel says that it has events of its own */
	bool given;    /* sl_epoll_hand_back() has seen to it */
};

/* A thread that sleeps in epoll_wait. */
struct sl_epsleeper {
	struct sl_list node;
	struct sl_bell *bell;
};

/* The number of lanes that a set remembers; if its members have more, each wait collects them. */
#define SL_EP_LANES 8

enum sl_ep_state { SL_EP_FREE, SL_EP_OPEN, SL_EP_CLOSED, SL_EP_ENDING };

struct sl_epoll {
	struct sl_lock lock;
	struct sl_lock ctl;
	uint32_t state; /* enum sl_ep_state; atomic */
	uint32_t users; /* calls inside; atomic */
	uint32_t refs;  /* descriptors; atomic */
	int epfd;       /* the first descriptor; may be closed while others live */
	int ghost;      /* a private one, for threads that wait while it is closed; -1; atomic */
	void (*empty)(struct sl_epoll *ep); /* takes every member off, when those have left */
	uint32_t nitems;                    /* members that are ours */
	uint32_t nnested;                   /* of these, sets */
	uint32_t nleft;                     /* of these, leftovers; read without the lock */
	uint32_t nos;      /* members given to the kernel and not taken back: at most so many */
	uint32_t nready;   /* in the ready list; read without the lock */
	uint32_t spinning; /* threads that poll in epoll_wait */
	uint32_t missed;   /* some item has missed events; atomic */
	uint32_t side;     /* whose events come first: ours and the kernel's in turn */
	uint32_t skipped;  /* answers in a row without a look at the kernel */
	uint32_t inside;   /* threads that wait in the kernel's epoll_wait, for want of members */
	int kick;          /* an eventfd in the kernel's set that gets them out; -1 */
	bool lanes_known;  /* lane[] is right as of sl_lane_moves == moves */
	uint32_t moves, nlanes;
	struct sl_asks asks;               /* looks at the kernel's members */
	struct sl_lane *lane[SL_EP_LANES]; /* of the members */
	bool inherited;                    /* from the parent process: see epoll_fork.c */
	bool kernels; /* the kernel watches the set: its members are the kernel's; atomic */
	struct sl_list ready, items, dead, sleepers;
	struct sl_wait_stats *counts; /* of its own from the first member on; ctl held; atomic */
	struct sl_list watchers;      /* under sl_nest_lock */
	struct sl_epitem **hash;
	uint32_t hash_size;  /* power of two, 0: none yet */
	struct sl_list node; /* in sl_epoll_sets, for good */
};

extern struct sl_lock sl_nest_lock;
extern struct sl_list sl_epoll_sets; /* every set there ever was; under sl_epoll_sets_lock */
extern struct sl_lock sl_epoll_sets_lock;

/* The set behind the descriptor, held so that it is not reused; leave it after. NULL: not ours, or
 * we are in a signal handler that interrupted its own thread inside the set. */
struct sl_epoll *sl_epoll_enter(int epfd);
void sl_epoll_leave(struct sl_epoll *ep);
/* Releases the set's lock, does what signal handlers have left. */
void sl_epoll_unlock(struct sl_epoll *ep);
/* Puts a set of ours behind the kernel's. NULL: it stays the kernel's alone. */
struct sl_epoll *sl_epoll_adopt(int epfd);
/* Some descriptor of the set, -1: none is left. */
int sl_epoll_any_fd(struct sl_epoll *ep);

/* epoll_item.c: members and readiness; with ep->lock held unless said otherwise */
struct sl_epitem *sl_epitem_find(struct sl_epoll *ep, int fd, const void *obj);
/* Makes room for one more, and has the set counted; ctl held, lock not. 0 or -ENOMEM. */
int sl_epitem_reserve(struct sl_epoll *ep);
void sl_epitem_link(struct sl_epoll *ep, struct sl_epitem *it);
/* Takes the item off the set; sl_epitem_reap() frees it later. */
void sl_epitem_bury(struct sl_epitem *it);
/* Frees the items that sl_epitem_bury() has taken off; ctl held, lock not. */
void sl_epitem_reap(struct sl_epoll *ep);
/* The registered events that are ready now. */
uint32_t sl_epitem_ready(struct sl_epitem *it);
/* Puts the item into the ready list if it may be ready, and wakes a sleeper. events 0: unknown. */
void sl_epitem_queue(struct sl_epitem *it, uint32_t events);
/* Registers the callbacks; no lock but ctl held. False: the socket or set is not ours any more. */
bool sl_epitem_watch(struct sl_epitem *it);
void sl_epitem_unwatch(struct sl_epitem *it);
/* Reports ready items behind the n events of this call, up to max in all; returns their number.
 * os_later: the kernel's events come after, and leftovers wait for theirs: an event of ours beside
 * the kernel's would be a second one. */
int sl_epoll_take(struct sl_epoll *ep, struct epoll_event *evs, int n, int max, bool os_later);
/* evs[ours] to evs[n - 1] are the kernel's: makes one event of each member that has left something
 * with us. Returns how many events there are. */
int sl_epoll_join(struct sl_epoll *ep, struct epoll_event *evs, int ours, int n);
/* Wakes the first sleeper that is not awake yet. */
void sl_epoll_wake(struct sl_epoll *ep);
/* Tells the watchers of the set; no set's lock held. */
void sl_epoll_tell(struct sl_epoll *ep);

/* epoll_ctl(2) of the kernel's set. A listener of several processes is there with the box by which
 * they give connections away (listen/box.c), whichever of the two it was added as. */
int sl_epoll_ctl_kernel(int epfd, int op, int fd, const struct epoll_event *ev);

/* epoll_wait.c: threads inside the kernel's epoll_wait come out and look again. */
void sl_epoll_kick(struct sl_epoll *ep);
/* Tells sl_wait_lane() the lanes of the members, inner sets included. */
struct sl_wait;
void sl_epoll_lanes(struct sl_epoll *ep, struct sl_wait *w);

/* epoll_fork.c: parts the set from the parent's, at its first use in the child. */
void sl_epoll_part(struct sl_epoll *ep, int epfd);
/* In a child, of a set that was the parent's: it has no members here. ep->ctl held. */
void sl_epoll_forget_items(struct sl_epoll *ep);

#endif
