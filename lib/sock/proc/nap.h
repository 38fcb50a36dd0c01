/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper's sleep, which tells the sleeps of other threads that the process was stopped. Called
 * by the keeper, but for sl_nap_child(). */
#ifndef SL_NAP_H
#define SL_NAP_H

#include <poll.h>
#include <time.h>

/* Without memory stops pass unseen. Again: nothing. */
void sl_nap_open(void);
/* ppoll(2) on n descriptors for as long as *left, which may change; NULL: without an end. The
 * number of those with events, 0 or -errno. */
long sl_nap(struct pollfd *fds, unsigned n, struct timespec *left);
void sl_nap_child(void); /* after fork, in the child, which does not have the memory */

#endif
