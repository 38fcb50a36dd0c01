/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps shared memory, and puts it on transparent huge pages.
 *
 * Why huge pages: received packets use all frames in turn, so on ordinary pages each packet misses
 * the TLB, and with many processes on few cores the page walk misses the caches, too. A huge page
 * also costs each process one page fault instead of 512, and takes less time to make. */
#include "base/pages.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/compat.h"
#include "base/log.h"
#include "base/sys.h"

#define ONE_BYTE 1 /* rounded up to a page */

static void *map_shared(int fd, size_t bytes, int flags)
{
	const size_t room = sl_pages_whole(bytes) + SL_HUGE_PAGE, page = getauxval(AT_PAGESZ);
	char *all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at, *end;
	int err;

	if (all == MAP_FAILED)
		return NULL;
	at = (char *)sl_pages_whole((uintptr_t)all);
	flags |= MAP_SHARED | MAP_FIXED;
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED) {
		err = errno;
		munmap(all, room);
		errno = err;
		return NULL;
	}
	sl_apart(at, bytes);
	end = at + ((bytes + page - 1) & ~(page - 1));
	if (at > all)
		munmap(all, (size_t)(at - all));
	munmap(end, (size_t)(all + room - end));
	return at;
}

void *sl_pages_map(int fd, size_t bytes)
{
	return map_shared(fd, bytes, 0);
}

void *sl_pages_map_anon(size_t bytes, bool huge)
{
	return map_shared(-1, bytes, MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0));
}

bool sl_pages_collapse(void *mem, size_t bytes)
{
	const char *at = mem;

	/* Each call makes one huge page and takes long, so the first failure ends the loop. */
	for (size_t n = 0; n + SL_HUGE_PAGE <= bytes; n += SL_HUGE_PAGE) {
		/* MADV_COLLAPSE needs a page to start from. Touching it instead would raise SIGBUS
		 * when memory is short. */
		if (sl_sys(SYS_madvise, at + n, ONE_BYTE, MADV_POPULATE_READ) ||
		    sl_sys(SYS_madvise, at + n, SL_HUGE_PAGE, MADV_COLLAPSE))
			return false;
	}
	return true;
}

void sl_pages_want_huge(void *mem, size_t bytes, bool asked_for)
{
	if (sl_pages_collapse(mem, bytes))
		return;
	sl_log(asked_for ? SL_LOG_WARN : SL_LOG_INFO, "mem",
	       "no huge pages for %zu MB of packet memory, using ordinary pages; "
	       "remedy: sysctl vm.nr_hugepages=%zu",
	       bytes >> 20, sl_pages_whole(bytes) / SL_HUGE_PAGE);
}
