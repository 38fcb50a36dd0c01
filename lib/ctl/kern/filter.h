/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of system calls (seccomp) that were there before the program began. */
#ifndef SL_FILTER_H
#define SL_FILTER_H

/* The number of a system call of this library for which a filter would kill the process; -1: there
 * is none. Makes a process for a moment, if there is a filter. Any thread. */
int sl_filter_deadly_call(void);

#endif
