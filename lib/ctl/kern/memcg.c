/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads memory.max, memory.current and memory.stat of the process's control group and of those
 * around it, or what they are called in version 1. */
#include "ctl/kern/memcg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/cgroup_dirs.h"

struct names {
	const char *limit, *usage;
	const char *cache[2]; /* lines of memory.stat */
};
static const struct names v1 = {"memory.limit_in_bytes",
				"memory.usage_in_bytes",
				{"\ntotal_inactive_file ", "\ntotal_active_file "}};
static const struct names v2 = {
	"memory.max", "memory.current", {"\ninactive_file ", "\nactive_file "}};

/* False: there is no such file, or it says "max". */
static bool read_number(const char *dir, const char *file, uint64_t *out)
{
	char path[SL_CGROUP_DIR_MAX + 32], text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (sl_read_text(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

/* Bytes of files that the kernel throws away before it ends a process: a group that has read much
 * is always full of them. */
static uint64_t cache_of(const char *dir, const struct names *n)
{
	char path[SL_CGROUP_DIR_MAX + 32], text[4096];
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	if (sl_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	for (unsigned i = 0; i < sl_array_len(n->cache); i++) {
		const char *at = strstr(text, n->cache[i]);

		bytes += at ? strtoull(at + strlen(n->cache[i]), NULL, 10) : 0;
	}
	return bytes;
}

/* Version 1 says a number somewhat below 2^63 where there is no limit; no machine has so much. */
#define NO_LIMIT (1ull << 62)

/* (Where there is none, the kernel need not sum up what the group uses.) */
static uint64_t room_of(const char *dir, const struct names *n)
{
	uint64_t limit, usage;

	if (!read_number(dir, n->limit, &limit) || limit >= NO_LIMIT ||
	    !read_number(dir, n->usage, &usage))
		return UINT64_MAX;
	usage -= sl_min(usage, cache_of(dir, n));
	return limit - sl_min(limit, usage);
}

static void add(const struct sl_cgroup_dir *d, void *arg)
{
	uint64_t *least = arg;

	*least = sl_min(*least, room_of(d->path, d->v1 ? &v1 : &v2));
}

uint64_t sl_memcg_room(void)
{
	uint64_t least = UINT64_MAX;
	char text[2048];

	if (sl_read_text("/proc/self/cgroup", text, sizeof(text)) > 0)
		sl_cgroup_each_dir(text, "memory", add, &least);
	return least;
}
