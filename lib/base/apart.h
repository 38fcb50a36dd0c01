/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that neither a forked child nor a process that has changed its user may keep: packets of
 * other programs, rings, maps, connections. A child may change its user, so the parent does not
 * trust it from fork() on. */
#ifndef SL_APART_H
#define SL_APART_H

#include "base/base.h"

/* Unmaps these whole pages in every child made from now on (MADV_DONTFORK), also in a child that
 * the library never learns of, and keeps them out of core dumps (MADV_DONTDUMP), which they would
 * make large and which would show other programs' packets. Any thread; errno is not touched. */
void sl_apart(void *mem, size_t bytes);

/* In a child: maps private zeros where the parent has such pages: a fork() in a signal handler may
 * have interrupted library code, into which the child returns. False: the child has another mapping
 * there, which stays, or no memory; do not use the addresses then. Async-signal-safe. */
bool sl_apart_hole(void *mem, size_t bytes);

/* Zeroed memory for secrets, for good: whole pages, whose place has zeros in every child
 * (MADV_WIPEONFORK), and which no core dump has. NULL: no memory. */
void *sl_apart_secret(size_t bytes);

/* Overwrites a secret that is not needed any more, also where the compiler sees no reader. */
static inline void sl_apart_wipe(void *secret, size_t bytes)
{
	__builtin_memset(secret, 0, bytes);
	__asm__ volatile("" : : "r"(secret) : "memory");
}

/* Private zeroed memory, into which the caller copies shared memory for sl_apart_become(). NULL: no
 * memory. */
void *sl_apart_copy(size_t bytes);
/* Replaces the shared memory at mem by the copy (NULL, or if the copy cannot be moved: by zeros);
 * threads that use the memory go on with it. copy must not be used afterwards. -errno: zeros cannot
 * be mapped either. */
int sl_apart_become(void *mem, void *copy, size_t bytes);

#endif
