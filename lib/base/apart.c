/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/apart.h"

#include <sys/mman.h>

#include "base/sys.h"

void sl_apart(void *mem, size_t bytes)
{
	(void)sl_sys(SYS_madvise, mem, bytes, MADV_DONTFORK);
}

/* (Before Linux 4.17 the address is but a wish, and the answer may be another one.) */
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
