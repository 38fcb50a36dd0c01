/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for tables that may become large and seldom do: its addresses are reserved for the
 * greatest size, and it comes into being from its beginning on, as the table grows.
 *
 * Why not simply touch it: where the kernel promises no more memory than it has
 * (vm.overcommit_memory 2, Documentation/mm/overcommit-accounting.rst), and under RLIMIT_DATA, all
 * that may be written counts as used. And pages of shared memory are counted there one by one, at
 * their first use; one that is not to be had is a SIGBUS. So they are had before they are used, or
 * the table does not grow. */
#ifndef SL_RESERVE_H
#define SL_RESERVE_H

#include "base/base.h"

#define SL_RESERVE_STEP (64ul << 10) /* whole pages of every size that Linux has */

struct sl_reserve {
	char *mem;
	size_t bytes; /* the most */
	size_t ready; /* these may be used; grows only */
	bool shared;
};

/* Reserves addresses, of zeroes once they are ready. NULL: none are left (RLIMIT_AS). They are
 * given back with munmap(). */
void *sl_reserve_map(size_t bytes);

/* A table in such memory (at a multiple of the step in it), or, shared, in a file's, mapped for
 * writing. */
void sl_reserve_init(struct sl_reserve *r, void *mem, size_t bytes, bool shared);

/* A table of its own addresses. 0 or -ENOMEM. */
int sl_reserve_open(struct sl_reserve *r, size_t bytes);

/* Makes the first want bytes ready: -ENOMEM when there is no memory, or want is more than there
 * ever will be. What was ready stays so. Under the caller's lock; a step at a time calls the
 * kernel. */
int sl_reserve_more(struct sl_reserve *r, size_t want);

static inline int sl_reserve_upto(struct sl_reserve *r, size_t want)
{
	return sl_likely(want <= r->ready) ? 0 : sl_reserve_more(r, want);
}

/* For other shared memory of that kind, mapped for writing: has all its pages now where they might
 * not be had later, because memory is promised only as far as it reaches. 0 or -ENOMEM. */
int sl_reserve_shared(void *mem, size_t bytes);

/* In a child of a process, which has a copy of it: zeroes again, as much as was ready. A shared
 * table cannot. 0 or -ENOMEM. */
int sl_reserve_clear(struct sl_reserve *r);

#endif
