/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of system calls (seccomp): those that were there before the program began, and one that
 * it sets itself. */
#ifndef SL_FILTER_H
#define SL_FILTER_H

struct sock_fprog;

/* The number of a system call of this library for which a filter would kill the process; -1: there
 * is none. own: a filter that the process is about to set, which may not answer with an error
 * either; NULL: the present ones. Makes a process for a moment, if there is a filter. Any thread.
 */
int sl_filter_deadly_call(const struct sock_fprog *own);

#endif
