/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptor table: address space for every number the process may ever have.
 *
 * Theory of operation: a process may fork by the bare system call instruction, which we do not
 * notice: no pthread_atfork(3) handler runs, and there is no function to interpose. Such a child
 * would go on with its parent's lanes. So the table's size stands in a page with MADV_WIPEONFORK:
 * in any new process with memory of its own the size is 0, so that its first look-up of a number
 * fails and comes here. This costs a look-up nothing. (Before Linux 4.14 such a child goes
 * unnoticed.) */
#include "sock/proc/fdtab.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/lock.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/proc/up.h"

#define MAX_FDS (1u << 20) /* the kernel's usual fs.nr_open */

uintptr_t *sl_fdtab;
uint32_t sl_fdtab_end;
union sl_fdtab_own sl_fdtab_own __attribute__((aligned(SL_FDTAB_PAGE)));
static bool mapped; /* the table is there; atomic */
static bool wiped;  /* the kernel zeroes sl_fdtab_own in a child, since map_own() succeeded */

/* Maps anonymous memory there: MADV_WIPEONFORK refuses a mapping of the library's file. */
static bool map_own(void)
{
	long p = sl_sys(SYS_mmap, &sl_fdtab_own, sizeof(sl_fdtab_own), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return p == (long)&sl_fdtab_own &&
	       sl_sys(SYS_madvise, p, sizeof(sl_fdtab_own), MADV_WIPEONFORK) == 0;
}

static int map_table(void)
{
	uintptr_t *table = sl_sys_pages(MAX_FDS * sizeof(*table), MAP_NORESERVE);
	bool is_mapped;

	if (!table)
		return -ENOMEM;
	sl_fdtab = table;
	is_mapped = map_own();
	sl_store_release(&sl_fdtab_size, MAX_FDS);
	sl_store_release(&wiped, is_mapped);
	sl_store_release(&mapped, true);
	return 0;
}

static bool is_found_out(void)
{
	return sl_load(&sl_fdtab_own.tid) == (uint32_t)sl_sys(SYS_gettid);
}

bool sl_fdtab_child_begin(void)
{
	uint32_t nobody = 0;

	if (!wiped)
		return true;
	if (sl_load(&sl_fdtab_size) || is_found_out())
		return false;
	if (__atomic_compare_exchange_n(&sl_fdtab_own.tid, &nobody, (uint32_t)sl_sys(SYS_gettid),
					false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	while (!sl_load_acquire(&sl_fdtab_size))
		sl_sys(SYS_sched_yield);
	return false;
}

void sl_fdtab_child_end(void)
{
	if (!wiped)
		return;
	sl_store_release(&sl_fdtab_size, MAX_FDS);
	sl_store(&sl_fdtab_own.tid, 0);
}

uintptr_t sl_fdtab_beyond(int fd)
{
	if (!sl_load_acquire(&wiped) || sl_load(&sl_fdtab_size))
		return 0;
	/* The hook looks numbers up, too: is_found_out() keeps it from coming back here. */
	if (!is_found_out())
		sl_up_fork_found();
	return (uint32_t)fd < MAX_FDS ? sl_load_acquire(&sl_fdtab[fd]) : 0;
}

/* Epoll sets may need the table before the first socket does. */
int sl_fdtab_init(void)
{
	static struct sl_lock once;
	int err;

	if (sl_load_acquire(&mapped))
		return 0;
	if (!sl_lock(&once))
		return -EAGAIN;
	err = mapped ? 0 : map_table();
	sl_unlock(&once);
	return err;
}

/* Before the object is there, so that a search that can meet it does not end below it. */
static void raise_end(uint32_t to)
{
	uint32_t end = sl_load(&sl_fdtab_end);

	while (end < to && !__atomic_compare_exchange_n(&sl_fdtab_end, &end, to, false,
							__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

int sl_fdtab_set(int fd, enum sl_fd_kind kind, void *obj)
{
	if (!sl_load_acquire(&mapped) || (uint32_t)fd >= MAX_FDS)
		return -EMFILE;
	raise_end((uint32_t)fd + 1);
	sl_store_release(&sl_fdtab[fd], (uintptr_t)obj | kind);
	return 0;
}

void sl_fdtab_clear(int fd)
{
	if ((uint32_t)fd < sl_load(&sl_fdtab_end))
		sl_store_release(&sl_fdtab[fd], 0);
}

SL_API
bool sl_is_ours(int fd)
{
	return sl_fdtab_word(fd) != 0;
}
