/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a child, or a process that changes its user, loses. */
#include "base/apart.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"

void sl_apart(void *mem, size_t bytes)
{
	(void)sl_sys(SYS_madvise, mem, bytes, MADV_DONTFORK);
	(void)sl_sys(SYS_madvise, mem, bytes, MADV_DONTDUMP);
}

void *sl_apart_secret(size_t bytes)
{
	void *p = sl_sys_pages(bytes, 0);

	if (p)
		(void)sl_sys(SYS_madvise, p, bytes, MADV_WIPEONFORK);
	return p;
}

/* Before Linux 4.17 the address is only a hint, so the kernel may return another one. */
bool sl_apart_hole(void *mem, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *at;

	if (!mem || sl_sys_mmap(&at, mem, bytes, flags, -1, 0))
		return false;
	if (at == mem)
		return true;
	(void)sl_sys(SYS_munmap, at, bytes);
	return false;
}

void *sl_apart_copy(size_t bytes)
{
	return sl_sys_pages(bytes, MAP_NORESERVE);
}

/* A page fault waits for the address space's lock, so no thread finds mem unmapped meanwhile. */
int sl_apart_become(void *mem, void *copy, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	long at = -ENOMEM;
	void *same;

	if (copy)
		at = sl_sys(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, mem);
	if (at == (long)mem)
		return 0;
	if (copy)
		(void)sl_sys(SYS_munmap, copy, bytes);
	return sl_sys_mmap(&same, mem, bytes, flags, -1, 0);
}
