/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptor table: address space for every number the process may ever have. */
#include "sock/fdtab.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/lock.h"
#include "base/sys.h"
#include "sluice.h"

#define MAX_FDS (1u << 20) /* the kernel's usual fs.nr_open */

uintptr_t *sl_fdtab;
uint32_t sl_fdtab_size;

static int map_table(void)
{
	long p = sl_sys(SYS_mmap, NULL, MAX_FDS * sizeof(uintptr_t), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p < 0 && p > -4096)
		return (int)p;
	sl_fdtab = (uintptr_t *)p;
	sl_store_release(&sl_fdtab_size, MAX_FDS);
	return 0;
}

/* Epoll sets may need the table before the first socket does. */
int sl_fdtab_init(void)
{
	static struct sl_lock once;
	int err;

	if (sl_load_acquire(&sl_fdtab_size))
		return 0;
	if (!sl_lock(&once))
		return -EAGAIN;
	err = sl_fdtab_size ? 0 : map_table();
	sl_unlock(&once);
	return err;
}

int sl_fdtab_set(int fd, enum sl_fd_kind kind, void *obj)
{
	if ((uint32_t)fd >= sl_fdtab_size)
		return -EMFILE;
	sl_store_release(&sl_fdtab[fd], (uintptr_t)obj | kind);
	return 0;
}

void sl_fdtab_clear(int fd)
{
	if ((uint32_t)fd < sl_fdtab_size)
		sl_store_release(&sl_fdtab[fd], 0);
}

SL_API
bool sl_is_ours(int fd)
{
	return sl_fdtab_word(fd) != 0;
}
