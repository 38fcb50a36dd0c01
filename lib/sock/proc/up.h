/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the library is up in this process, and forks that have to wait. call/start.c brings the
 * library up and takes it down; rooms below it ask here. */
#ifndef SL_UP_H
#define SL_UP_H

#include "base/base.h"

/* 0: not yet; 1: up; -ECHILD: a parent is up; -ESTALE: it was up, under other credentials;
 * -ECANCELED: it has ended for good; another -errno: the start failed. Only call/start.c writes it;
 * atomic. */
extern int sl_up_state;

/* Functions of call/start.c that rooms below call; set before the first start. */
struct sl_up_hooks {
	int (*start)(void);            /* sl_start() */
	bool (*may_start_again)(void); /* a child of a process with a lease: could it be up, too? */
	void (*fork_found)(void);      /* in a child whose fork no handler has seen */
	void (*shut_down)(void);       /* the process ends */
};
void sl_up_set_hooks(const struct sl_up_hooks *hooks);

/* True: the library is up in this process. Any thread. */
static inline bool sl_is_up(void)
{
	return sl_load_acquire(&sl_up_state) == 1;
}
/* True: in this child, whose parent was up, sl_up_again() may succeed. */
bool sl_may_start_again(void);
/* sl_start() for the rooms below call/: brings the library up, for the first time or in a process
 * that has been forked or has become another user. 0 or -errno: everything stays with the kernel.
 * No lock held. */
int sl_up_again(void);
/* Tells call/start.c of a fork that no handler has seen. fdtab.c calls it, in the child. */
void sl_up_fork_found(void);
/* The process ends without exit(3) or _exit(2). */
void sl_up_shut_down(void);

/* Between hold and release no fork happens: a child would get a socket that is half the kernel's.
 * False: the caller is a signal handler that interrupted its thread between the two. Call with no
 * socket's `slow` held. */
bool sl_fork_hold(void);
void sl_fork_release(void);
void sl_fork_child_reset(void); /* in a child: nothing is held */

#endif
