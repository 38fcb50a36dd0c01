/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared memory on transparent huge pages: packet memory, where nobody has reserved huge pages. */
#ifndef SL_PAGES_H
#define SL_PAGES_H

#include "base/base.h"

#define SL_HUGE_PAGE (2ul << 20)

/* Whole huge pages of so many bytes. */
static inline size_t sl_pages_whole(size_t bytes)
{
	return (bytes + SL_HUGE_PAGE - 1) & ~(SL_HUGE_PAGE - 1);
}

/* Maps the first bytes of fd shared, for reading and writing, where huge pages of it can be mapped
 * as such: at a multiple of their size. The kernel aligns so by itself only when
 * transparent_hugepage/shmem_enabled says so. A forked child has not got it. Freed with munmap().
 * NULL with errno set. */
void *sl_pages_map(int fd, size_t bytes);
/* The same of memory that has no file, for this process; huge: of the huge pages
 * that are reserved (bytes: whole ones). */
void *sl_pages_map_anon(size_t bytes, bool huge);

/* Brings the pages of a mapping made by sl_pages_map() into being, as huge ones: MADV_COLLAPSE
 * (Linux 6.1) does that whatever shmem_enabled says ("deny" excepted), see
 * Documentation/admin-guide/mm/transhuge.rst. What is in them stays. Pages that a device holds
 * already cannot be moved, so this comes before they are registered. False: not all are huge, or
 * none; then the kernel brings in the others one by one, as they are used. Any thread. */
bool sl_pages_collapse(void *mem, size_t bytes);
/* Does it for packet memory, and says so with the remedy where it cannot be done: as a warning when
 * huge pages were asked for. */
void sl_pages_want_huge(void *mem, size_t bytes, bool asked_for);

#endif
