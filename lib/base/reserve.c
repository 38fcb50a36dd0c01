/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for tables that grow: reserved at once, made usable step by step. */
#include "base/reserve.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/compat.h"
#include "base/sys.h"

void *sl_reserve_map(size_t bytes)
{
	long p = sl_sys(SYS_mmap, NULL, bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

void sl_reserve_init(struct sl_reserve *r, void *mem, size_t bytes, bool shared)
{
	*r = (struct sl_reserve){.mem = mem, .bytes = bytes, .shared = shared};
}

int sl_reserve_open(struct sl_reserve *r, size_t bytes)
{
	void *mem = sl_reserve_map(bytes);

	if (!mem)
		return -ENOMEM;
	sl_reserve_init(r, mem, bytes, false);
	return 0;
}

/* (Before Linux 5.14 the kernel cannot make shared pages before they are used: EINVAL.) */
static int populate(void *mem, size_t bytes)
{
	int err = sl_sysi(SYS_madvise, mem, bytes, MADV_POPULATE_WRITE);

	return err && err != -EINVAL ? -ENOMEM : 0;
}

static int make_ready(const struct sl_reserve *r, size_t bytes)
{
	char *at = r->mem + r->ready;

	if (r->shared)
		return populate(at, bytes);
	return sl_sysi(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE);
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

int sl_reserve_clear(struct sl_reserve *r)
{
	void *same;

	if (!r->ready)
		return 0;
	return sl_sys_mmap(&same, r->mem, r->ready,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
