/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a forked child must not have, nor a process that has become another user: packets of
 * other programs, rings, maps, connections. A child may become another user, and from fork() on the
 * parent does not trust it. */
#ifndef SL_APART_H
#define SL_APART_H

#include "base/base.h"

/* Whole pages, which are not mapped in any child that is made from now on, also in one that nothing
 * tells the library of (MADV_DONTFORK). Any thread; errno is not touched. */
void sl_apart(void *mem, size_t bytes);

/* In a child: private zeros where the parent has such pages, for code that a fork() has broken off
 * (a signal handler's child that returns into it). False: the child has something else there by
 * now, which is left alone, or no memory; the addresses must not be used then. Async-signal-safe.
 */
bool sl_apart_hole(void *mem, size_t bytes);

/* Private memory of that size, zeros: a copy of shared memory is to be made in it. NULL: there is
 * none. */
void *sl_apart_copy(size_t bytes);
/* From now on that copy (NULL: zeros) is what lies at mem, and the shared memory is not mapped
 * there any more; threads that are at work in it go on with the copy. The same pages for both.
 * -errno: neither can be had, and all is as it was. */
int sl_apart_become(void *mem, void *copy, size_t bytes);

#endif
