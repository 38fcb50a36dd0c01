/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for tables that may become large and seldom do: they have room for the greatest size
 * behind them, and memory from the beginning on, as they grow.
 *
 * Why not simply map it all: a program may limit its address space (RLIMIT_AS) or lock all of it
 * (mlockall(2), within RLIMIT_MEMLOCK), so a table has no more addresses in use than it needs. It
 * starts at a random place far from everything, where the kernel puts no mapping unasked, and the
 * next piece is mapped behind the last one. Where no such place can be had (small address spaces,
 * valgrind, ThreadSanitizer) the addresses are reserved for the greatest size. And where the kernel
 * promises no more memory than it has (vm.overcommit_memory 2,
 * Documentation/mm/overcommit-accounting.rst), and under RLIMIT_DATA, all writable memory counts as
 * used. Pages of shared memory are counted there one by one, at their first use; if there is no
 * memory for a page, that use raises SIGBUS. So the table obtains memory before its use, or does
 * not grow. */
#ifndef SL_RESERVE_H
#define SL_RESERVE_H

#include "base/base.h"

#define SL_RESERVE_STEP (64ul << 10) /* whole pages, whatever the page size */

struct sl_reserve {
	char *mem;
	size_t bytes; /* the most */
	size_t ready; /* these may be used; grows only */
	int fd;       /* of the file that it is the memory of; -1: none */
	size_t at;    /* offset in the file */
	bool apart;   /* not for children (base/apart.h) */
};

/* Finds addresses for so many bytes, which hold zeroes once they are ready; nothing needs to be
 * mapped there. NULL: there are none (RLIMIT_AS). Give them back with munmap(). */
void *sl_reserve_map(size_t bytes);

/* Starts a table at mem, a multiple of the step in what sl_reserve_map() found. fd: the file whose
 * memory it is, mapped shared from offset `at` on; it stays the caller's and open; -1: private
 * memory. apart: sl_apart() is called for what becomes ready. */
void sl_reserve_init(struct sl_reserve *r, void *mem, size_t bytes, int fd, size_t at, bool apart);

/* Starts a private table with addresses of its own. 0 or -ENOMEM. */
int sl_reserve_open(struct sl_reserve *r, size_t bytes);

/* Makes the first want bytes ready: -ENOMEM when there is no memory, or want is more than there
 * ever will be. What was ready stays so. Call under a lock; it calls the kernel some times for each
 * step. */
int sl_reserve_more(struct sl_reserve *r, size_t want);

static inline int sl_reserve_upto(struct sl_reserve *r, size_t want)
{
	return sl_likely(want <= r->ready) ? 0 : sl_reserve_more(r, want);
}

/* In a child that does not have the table's memory (apart): maps zeros where it was ready. False:
 * do not use the addresses (sl_apart_hole()). */
bool sl_reserve_hole(const struct sl_reserve *r);
/* Makes the table of a file private: what was ready keeps its contents, or has zeroes if there is
 * no memory for a copy, and no change of it comes to the file any more. -errno: the file's memory
 * is still mapped. The caller closes fd. */
int sl_reserve_part(struct sl_reserve *r);

/* For other shared memory, mapped for writing: allocates all its pages now if the kernel promises
 * no more memory than it has, since there might be none for them later. 0 or -ENOMEM. */
int sl_reserve_shared(void *mem, size_t bytes);

/* In a forked child, which has a copy of the table: makes what was ready zeroes again. Not for a
 * shared table. 0 or -ENOMEM. */
int sl_reserve_clear(struct sl_reserve *r);

#endif
