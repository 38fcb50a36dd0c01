/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks of a group that do not become free: how the group's owner finds them. */
#ifndef SL_SHARE_WATCH_H
#define SL_SHARE_WATCH_H

#include "base/share/share.h"

#define SL_SHARE_STOPPED_LOOKS 2

/* The state of a lock, as the daemon saw it at each look. */
struct sl_share_watch {
	uint32_t thread;  /* the word that names it */
	uint32_t looks;   /* one after the other that found the same */
	uint32_t stopped; /* of these, the last ones that found it stopped */
};
/* A lock that is out of order. */
struct sl_share_fault {
	int queue;       /* the queue whose lock it is; -1: the pool's */
	uint32_t word;   /* the lock's word */
	bool impossible; /* no possible holder; else the same thread keeps it */
	bool stopped;    /* it is stopped */
};
/* True: the thread that the word names (share/rlock.h) is stopped, so it cannot let go. Asked only
 * about a lock that the same thread had at the look before. */
typedef bool sl_share_stopped_fn(void *arg, uint32_t thread);
/* Looks at all locks in use, at regular times; w: for the pool and for each queue (nqueues + 1),
 * zeros at first. True: one of them names no possible holder, or has named the same thread in
 * `looks` looks after the first one, or one that is stopped in SL_SHARE_STOPPED_LOOKS of these, the
 * last ones; f says which. */
bool sl_share_look(const struct sl_share *g, struct sl_share_watch *w, uint32_t looks,
		   sl_share_stopped_fn *stopped, void *arg, struct sl_share_fault *f);

#endif
