/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane's private veth pair, by which it receives packets of a packet socket. */
#ifndef SL_CTL_PAIR_H
#define SL_CTL_PAIR_H

#include <pthread.h>
#include <semaphore.h>

#include "base/base.h"

/* The pair's first end is in the caller's network namespace, without addresses; the other is alone
 * in a network namespace of its own, which the packet socket keeps alive. The kernel deletes both
 * with it. */
struct sl_pair_ends {
	int fd;              /* packet socket in the private namespace, not bound; the caller's */
	uint32_t ifindex;    /* the end here: bpf_redirect_peer() is called with it */
	uint32_t rx_ifindex; /* the end there: bind the socket to it */
};

/* Names of our ends are this and a number. */
#define SL_PAIR_PREFIX "sluice"
/* True: a device of that name and kind is the end of a pair, of any process. */
bool sl_pair_is(const char *name, const char *kind);
/* True: this process may make network namespaces (CAP_SYS_ADMIN, and no filter of system calls or
 * addresses). Finds out by making one. */
bool sl_pair_may(void);

/* A pair that is being made, by a thread in the namespace and the one that goes on. */
struct sl_pair_making {
	pthread_t thread;
	int here;            /* netlink socket of the namespace outside; -1: a trial */
	unsigned flags;      /* of unshare(2) */
	int netlink, packet; /* descriptors, or -1 */
	int drop_fd;
	bool tcx; /* programs are attached by tcx, else by tc filters */
	struct sl_pair_ends ends;
	const char *step; /* that is done now, or that failed */
	int err;
	sem_t made;   /* the pair is there, or err says why not */
	int drop_err; /* of the program of the end there, which the thread attaches then */
};

/* Begins to make a pair. drop_fd: the program that ends packets behind the socket, which stays the
 * caller's until sl_pair_end(). Call with all signals blocked, as the broker's lock does. 0 or
 * -errno. */
int sl_pair_begin(struct sl_pair_making *m, int drop_fd);
/* Waits until the pair is there. 0: m->ends is the pair, and its fd is the caller's; else -errno,
 * and m->step is the step that failed. */
int sl_pair_wait(struct sl_pair_making *m);
/* Gives the end here of a pair that is lent its program, after sl_pair_wait(). 0 or -errno, as
 * above. Any thread of this network namespace may call these two. */
int sl_pair_shut(struct sl_pair_making *m);
/* Ends what sl_pair_begin() began, after sl_pair_wait(). 0, or -errno of the program there, as
 * above, or of sl_pair_wait(). Call it in the thread that began: a thread of the library's that
 * joined another one would get a heap of its own from the C library, of 64 MB of addresses. */
int sl_pair_end(struct sl_pair_making *m);

#endif
