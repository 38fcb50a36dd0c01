/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for tables that may become large and seldom do: its addresses are reserved for the
 * greatest size, and it becomes usable from the beginning on, as the table grows.
 *
 * Why not simply touch it: where the kernel promises no more memory than it has
 * (vm.overcommit_memory 2, Documentation/mm/overcommit-accounting.rst), and under RLIMIT_DATA, all
 * writable memory counts as used. And pages of shared memory are counted there one by one, at their
 * first use; if there is no memory for a page, that use raises SIGBUS. So the table obtains memory
 * before its use, or does not grow. */
#ifndef SL_RESERVE_H
#define SL_RESERVE_H

#include "base/base.h"

#define SL_RESERVE_STEP (64ul << 10) /* whole pages, whatever the page size */

struct sl_reserve {
	char *mem;
	size_t bytes; /* the most */
	size_t ready; /* these may be used; grows only */
	bool shared;
};

/* Reserves addresses; they hold zeroes once they are ready. NULL: none are left (RLIMIT_AS). Free
 * with munmap(). */
void *sl_reserve_map(size_t bytes);

/* Starts a table in such memory (at a multiple of the step in it); shared: in a file's memory,
 * mapped for writing. */
void sl_reserve_init(struct sl_reserve *r, void *mem, size_t bytes, bool shared);

/* Starts a table with addresses of its own. 0 or -ENOMEM. */
int sl_reserve_open(struct sl_reserve *r, size_t bytes);

/* Makes the first want bytes ready: -ENOMEM when there is no memory, or want is more than there
 * ever will be. What was ready stays so. Call under a lock; it calls the kernel at most once
 * for each step. */
int sl_reserve_more(struct sl_reserve *r, size_t want);

static inline int sl_reserve_upto(struct sl_reserve *r, size_t want)
{
	return sl_likely(want <= r->ready) ? 0 : sl_reserve_more(r, want);
}

/* For other shared memory, mapped for writing: allocates all its pages now if the kernel promises
 * no more memory than it has, since there might be none for them later. 0 or -ENOMEM. */
int sl_reserve_shared(void *mem, size_t bytes);

/* In a forked child, which has a copy of the table: makes what was ready zeroes again. Not for a
 * shared table. 0 or -ENOMEM. */
int sl_reserve_clear(struct sl_reserve *r);

#endif
