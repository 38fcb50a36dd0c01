/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for tables that grow: the next piece is mapped behind the last one. */
#include "base/reserve.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/compat.h"
#include "base/sys.h"

/* The kernel places mappings below the stacks, programs above 0x55... (x86-64) or 0xaa... (arm64),
 * and run-time systems that choose addresses take lower ones, or ask whether they are free. */
#define FAR_FROM 0x200000000000ul
#define FAR_TO   0x500000000000ul
#define FAR_EACH 0x100000000ul /* from one table to the next */

/* ThreadSanitizer and MemorySanitizer of the program know few ranges of addresses. */
void __tsan_init(void) __attribute__((weak));
void __msan_init(void) __attribute__((weak));

static bool is_far(const void *mem)
{
	return sizeof(void *) == 8 && (uintptr_t)mem >= FAR_FROM && (uintptr_t)mem < FAR_TO;
}

/* Tables lie one behind the other from a random place on. (As good as that of the program's stack:
 * from the same source.) */
static char *far_place(void)
{
	static uint64_t nth;
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t x = 0;

	if (__tsan_init || __msan_init || sizeof(void *) != 8)
		return NULL;
	if (random)
		memcpy(&x, random, sizeof(x));
	x = (sl_mix(0, x) >> 8) + __atomic_add_fetch(&nth, 1, __ATOMIC_RELAXED);
	return (char *)(uintptr_t)(FAR_FROM + x % ((FAR_TO - FAR_FROM) / FAR_EACH - 1) * FAR_EACH);
}

static char *map_none(void *at, size_t bytes)
{
	long p = sl_sys(SYS_mmap, at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	return p < 0 && p > -4096 ? NULL : (char *)p;
}

/* (Its first step is mapped for a moment, to see whether the kernel knows such addresses.) */
void *sl_reserve_map(size_t bytes)
{
	char *want = bytes < FAR_EACH ? far_place() : NULL;
	char *got = want ? map_none(want, SL_RESERVE_STEP) : NULL;

	if (got)
		sl_sys(SYS_munmap, got, SL_RESERVE_STEP);
	return got && got == want ? got : map_none(NULL, bytes);
}

void sl_reserve_init(struct sl_reserve *r, void *mem, size_t bytes, int fd, size_t at, bool apart)
{
	*r = (struct sl_reserve){.mem = mem, .bytes = bytes, .fd = fd, .at = at, .apart = apart};
}

int sl_reserve_open(struct sl_reserve *r, size_t bytes)
{
	void *mem = sl_reserve_map(bytes);

	if (!mem)
		return -ENOMEM;
	sl_reserve_init(r, mem, bytes, -1, 0, false);
	return 0;
}

/* (Before Linux 5.14 the kernel cannot make shared pages before they are used: EINVAL.) */
static int populate(void *mem, size_t bytes)
{
	int err = sl_sysi(SYS_madvise, mem, bytes, MADV_POPULATE_WRITE);

	return err && err != -EINVAL ? -ENOMEM : 0;
}

/* Maps the next piece. Nothing that another library has put there is replaced. (Before Linux 4.17
 * the address is only a hint.) */
static int make_ready(const struct sl_reserve *r, size_t bytes)
{
	char *at = r->mem + r->ready;
	int flags = r->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_NORESERVE;
	void *got;
	int err =
		sl_sys_mmap(&got, at, bytes, flags | (is_far(at) ? MAP_FIXED_NOREPLACE : MAP_FIXED),
			    r->fd, r->fd < 0 ? 0 : (long)(r->at + r->ready));

	if (err)
		return err;
	if (got == at && (r->fd < 0 || !populate(at, bytes))) {
		if (r->apart)
			sl_apart(at, bytes);
		return 0;
	}
	sl_sys(SYS_munmap, got, bytes);
	if (!is_far(at))
		map_none(at, bytes);
	return -ENOMEM;
}

int sl_reserve_shared(void *mem, size_t bytes)
{
	char how[16];
	bool strict = sl_read_text("/proc/sys/vm/overcommit_memory", how, sizeof(how)) > 0 &&
		      how[0] == '2';

	return strict ? populate(mem, bytes) : 0;
}

int sl_reserve_more(struct sl_reserve *r, size_t want)
{
	size_t end = (want + SL_RESERVE_STEP - 1) & ~(SL_RESERVE_STEP - 1);

	if (want > r->bytes)
		return -ENOMEM;
	end = sl_min(end, r->bytes);
	if (make_ready(r, end - r->ready))
		return -ENOMEM;
	r->ready = end;
	return 0;
}

bool sl_reserve_hole(const struct sl_reserve *r)
{
	return !r->ready || sl_apart_hole(r->mem, r->ready);
}

int sl_reserve_part(struct sl_reserve *r)
{
	char *copy;
	int err;

	if (r->fd < 0)
		return 0;
	r->fd = -1;
	if (!r->ready)
		return 0;
	copy = sl_apart_copy(r->ready);
	if (copy)
		memcpy(copy, r->mem, r->ready);
	err = sl_apart_become(r->mem, copy, r->ready);
	if (r->apart)
		sl_apart(r->mem, r->ready);
	return err;
}

int sl_reserve_clear(struct sl_reserve *r)
{
	void *same;

	if (!r->ready)
		return 0;
	return sl_sys_mmap(&same, r->mem, r->ready,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
