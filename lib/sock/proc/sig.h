/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers that ran on this thread, counted by the preload library (preload/signal.c wraps
 * them), so that a call that spins can tell that it was interrupted as a sleeping one would be
 * (signal(7)): read the count when the call begins, compare while spinning.
 *
 * select, poll and epoll_wait end with EINTR after any handler: sl_sig_ran. recv, send, accept and
 * connect do so after one without SA_RESTART, or after any when the socket has a time-out:
 * sl_sig_intr, or sl_sig_ran. Call sleeping functions for the rest: the kernel knows. */
#ifndef SL_SIG_H
#define SL_SIG_H

#include "base/base.h"

extern __thread uint32_t sl_sig_ran __attribute__((tls_model("initial-exec")));
/* Counts only handlers that were installed without SA_RESTART. */
extern __thread uint32_t sl_sig_intr __attribute__((tls_model("initial-exec")));

/* Counts how often the process was stopped (SIGSTOP) and went on (SIGCONT) while the keeper slept.
 * epoll_wait then ends with EINTR, and so does a call of a socket with a time-out, although no
 * handler ran; poll, select and calls without a time-out go on (signal(7)). */
extern uint32_t sl_sig_stops;
void sl_sig_stopped(void);           /* the keeper calls it: counts, and wakes all threads */
extern void (*sl_sig_on_stop)(void); /* wakes them; may be NULL */

/* Called after a handler of SIGINT has counted, when SLUICE_HANDLE_SIGINTR is set: wakes all
 * threads that wait. May be NULL. */
extern void (*sl_sig_on_int)(void);

#endif
