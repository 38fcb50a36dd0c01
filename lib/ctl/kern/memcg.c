/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads memory.max, memory.current and memory.stat of the process's control group and of those
 * around it, or what they are called in version 1. */
#include "ctl/kern/memcg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

#define DIR_MAX 512

struct names {
	const char *limit, *usage, *unused; /* unused: the line of memory.stat */
};
static const struct names v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
				"\ntotal_inactive_file "};
static const struct names v2 = {"memory.max", "memory.current", "\ninactive_file "};

/* False: there is no such file, or it says "max". */
static bool read_number(const char *dir, const char *file, uint64_t *out)
{
	char path[DIR_MAX + 32], text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (sl_read_text(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

static uint64_t unused_cache(const char *dir, const char *line)
{
	char path[DIR_MAX + 32], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	if (sl_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, line);
	return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

static uint64_t room_of(const char *dir, const struct names *n)
{
	uint64_t limit, usage;

	if (!read_number(dir, n->limit, &limit) || !read_number(dir, n->usage, &usage))
		return UINT64_MAX;
	usage -= sl_min(usage, unused_cache(dir, n->unused));
	return limit - sl_min(limit, usage);
}

/* The group and those around it. path: as /proc/self/cgroup has it. */
static uint64_t least_room(const char *root, const char *path, const struct names *n)
{
	const size_t top = strlen(root);
	uint64_t least = UINT64_MAX;
	char dir[DIR_MAX];

	if (snprintf(dir, sizeof(dir), "%s%s", root, path) >= (int)sizeof(dir))
		return least;
	while (strlen(dir) > top) {
		least = sl_min(least, room_of(dir, n));
		*strrchr(dir, '/') = 0;
	}
	return sl_min(least, room_of(dir, n));
}

/* True: "memory" is one of the controllers, as in "memory,hugetlb". */
static bool has_memory(const char *controllers)
{
	const char *at = strstr(controllers, "memory");

	return at && (at == controllers || at[-1] == ',') && (at[6] == ',' || !at[6]);
}

/* line: "4:memory:/group", or "0::/group" of version 2. */
static uint64_t room_of_line(char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char root[64];

	if (!path)
		return UINT64_MAX;
	*path++ = 0;
	controllers++;
	if (!*controllers)
		return least_room("/sys/fs/cgroup", path, &v2);
	if (!has_memory(controllers) ||
	    snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controllers) >= (int)sizeof(root))
		return UINT64_MAX;
	return least_room(root, path, &v1);
}

uint64_t sl_memcg_room(void)
{
	uint64_t least = UINT64_MAX;
	char text[2048];

	if (sl_read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return least;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		least = sl_min(least, room_of_line(line));
	}
	return least;
}
