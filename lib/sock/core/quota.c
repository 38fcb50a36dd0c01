/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU quota of the process's control group (cpu.max, or cpu.cfs_quota_us of cgroup v1). */
#include "sock/core/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

#define DIR_MAX 512

/* Thousandths of a core that a quota allows; UINT32_MAX: no limit. */
static uint32_t milli(long quota_us, long period_us)
{
	if (quota_us <= 0 || period_us <= 0)
		return UINT32_MAX;
	return (uint32_t)sl_min(quota_us * 1000ull / (uint64_t)period_us, (uint64_t)INT32_MAX);
}

static long number_in(const char *dir, const char *name)
{
	char path[DIR_MAX + 32], text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return sl_read_text(path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10) : -1;
}

/* "20000 100000", or "max 100000", in a file cpu.max. */
static uint32_t of_group(const char *dir, bool v1)
{
	char path[DIR_MAX + 32], text[64], *end;
	long quota_us;

	if (v1) {
		quota_us = number_in(dir, "cpu.cfs_quota_us");
		return quota_us <= 0 ? UINT32_MAX
				     : milli(quota_us, number_in(dir, "cpu.cfs_period_us"));
	}
	snprintf(path, sizeof(path), "%s/cpu.max", dir);
	if (sl_read_text(path, text, sizeof(text)) <= 0)
		return UINT32_MAX;
	quota_us = strtol(text, &end, 10);
	return milli(quota_us, strtol(end, NULL, 10));
}

/* The least of the group's and of the groups' around it. path: as /proc/self/cgroup has it. */
static uint32_t of_groups(const char *root, const char *path, bool v1)
{
	uint32_t least = UINT32_MAX;
	size_t top = strlen(root);
	char dir[DIR_MAX];

	if (snprintf(dir, sizeof(dir), "%s%s", root, path) >= (int)sizeof(dir))
		return least;
	while (strlen(dir) > top + 1) {
		uint32_t own = of_group(dir, v1);

		least = sl_min(least, own);
		*strrchr(dir, '/') = 0;
	}
	return least;
}

/* True: "cpu" is one of the controllers, as in "cpu,cpuacct". */
static bool has_cpu(const char *controllers)
{
	for (const char *at = controllers; at; at = strchr(at, ','), at += !!at)
		if (!strncmp(at, "cpu", 3) && (at[3] == ',' || !at[3]))
			return true;
	return false;
}

/* line: "4:cpu,cpuacct:/group", or "0::/group" of cgroup v2. */
static uint32_t of_line(char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char root[64];

	if (!path)
		return UINT32_MAX;
	*path++ = 0;
	controllers++;
	if (!*controllers)
		return of_groups("/sys/fs/cgroup", path, false);
	if (!has_cpu(controllers) ||
	    snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controllers) >= (int)sizeof(root))
		return UINT32_MAX;
	return of_groups(root, path, true);
}

uint32_t sl_quota_read(void)
{
	uint32_t least = UINT32_MAX;
	char text[2048], *next;

	if (sl_read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return 0;
	for (char *line = text; line; line = next) {
		uint32_t own;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		own = of_line(line);
		least = sl_min(least, own);
	}
	return least == UINT32_MAX ? 0 : least;
}
