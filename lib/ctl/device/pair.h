/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane's private veth pair, by which it receives packets of a packet socket. */
#ifndef SL_CTL_PAIR_H
#define SL_CTL_PAIR_H

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
/* Makes a pair. drop_fd: the program that ends packets behind the socket. 0, or -errno and in *step
 * the step that failed. Call with all signals blocked, as the broker's lock does. */
int sl_pair_open(struct sl_pair_ends *p, int drop_fd, const char **step);

#endif
