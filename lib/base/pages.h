/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared memory on transparent huge pages: packet memory on hosts without reserved huge pages. */
#ifndef SL_PAGES_H
#define SL_PAGES_H

#include "base/base.h"

#define SL_HUGE_PAGE (2ul << 20)

/* Rounds bytes up to whole huge pages. */
static inline size_t sl_pages_whole(size_t bytes)
{
	return (bytes + SL_HUGE_PAGE - 1) & ~(SL_HUGE_PAGE - 1);
}

/* Maps the first bytes of fd shared, for reading and writing, at a multiple of the huge page size,
 * without which no huge page can be mapped. The kernel aligns so by itself only when
 * transparent_hugepage/shmem_enabled says so. A forked child does not have the mapping. Free with
 * munmap(). NULL with errno set on failure. */
void *sl_pages_map(int fd, size_t bytes);
/* Like sl_pages_map() without a file, for this process only; huge: from the reserved huge pages
 * (bytes must be whole huge pages). */
void *sl_pages_map_anon(size_t bytes, bool huge);

/* Allocates the pages of a mapping made by sl_pages_map(), as huge ones: MADV_COLLAPSE
 * (Linux 6.1) does that whatever shmem_enabled says ("deny" excepted), see
 * Documentation/admin-guide/mm/transhuge.rst. Their contents stay. Pages that a device holds
 * already cannot be moved, so this comes before they are registered. False: not all are huge, or
 * none; then the kernel brings in the others one by one, as they are used. Any thread. */
bool sl_pages_collapse(void *mem, size_t bytes);
/* Calls sl_pages_collapse() for packet memory; if that fails, logs the remedy, as a warning when
 * huge pages were asked for. */
void sl_pages_want_huge(void *mem, size_t bytes, bool asked_for);

#endif
