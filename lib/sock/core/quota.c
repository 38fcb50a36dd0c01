/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU quota of the process's control group (cpu.max, or cpu.cfs_quota_us of cgroup v1).
 *
 * Theory of operation: each descriptor that is opened takes a number which the program may just be
 * about to get. So the files of the group that the first look finds, and of the groups around it,
 * stay open, and a look reads them again. The files of a group that the process is moved to later
 * are opened aside (sl_aside()) at each look. */
#include "sock/core/quota.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fds.h"
#include "base/lock.h"
#include "base/sys.h"

#define DIR_MAX  512
#define TEXT_MAX 2048
#define LEVELS   6 /* of the group and those around it; more are not looked at */

struct level {
	int quota;  /* cpu.max, or cpu.cfs_quota_us */
	int period; /* cpu.cfs_period_us; -1: cpu.max has both */
};

static struct sl_fd_once groups; /* /proc/self/cgroup */
static struct sl_lock lock;      /* tried, never waited for: a fork may have copied it held */
struct levels {
	bool aside; /* they are another table's */
	unsigned n;
	struct level level[LEVELS];
};
static struct {
	long pid;
	char groups[TEXT_MAX]; /* its text when the levels were opened */
	struct levels levels;
} own;

/* Descriptors --------------------------------------------------------------------------------- */

static int open_in(const char *dir, const char *name, bool aside)
{
	char path[DIR_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = sl_sysi(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	return aside ? fd : sl_fd_guard(sl_fd_keep(fd));
}

static void read_kept(int fd, char *text, size_t size)
{
	long n = fd < 0 ? -1 : sl_sys(SYS_pread64, fd, text, size - 1, 0L);

	text[sl_max(n, 0L)] = 0;
}

static void close_one(int fd, bool aside)
{
	if (fd >= 0 && aside)
		sl_sysi(SYS_close, fd);
	else if (fd >= 0)
		sl_sys_close(fd);
}

static void close_levels(struct levels *to)
{
	while (to->n) {
		struct level *l = &to->level[--to->n];

		close_one(l->quota, to->aside);
		close_one(l->period, to->aside);
	}
}

/* The group and the groups around it. path: as /proc/self/cgroup has it. */
static void open_levels(struct levels *to, const char *root, const char *path, bool v1)
{
	size_t top = strlen(root);
	char dir[DIR_MAX];

	if (snprintf(dir, sizeof(dir), "%s%s", root, path) >= (int)sizeof(dir))
		return;
	for (; strlen(dir) > top + 1 && to->n < LEVELS; *strrchr(dir, '/') = 0) {
		struct level l = {open_in(dir, v1 ? "cpu.cfs_quota_us" : "cpu.max", to->aside), -1};

		if (l.quota < 0)
			continue;
		if (v1)
			l.period = open_in(dir, "cpu.cfs_period_us", to->aside);
		to->level[to->n++] = l;
	}
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
static void open_line(struct levels *to, char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char root[64];

	if (!path)
		return;
	*path++ = 0;
	controllers++;
	if (!*controllers)
		open_levels(to, "/sys/fs/cgroup", path, false);
	else if (has_cpu(controllers) &&
		 snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controllers) < (int)sizeof(root))
		open_levels(to, root, path, true);
}

static void open_groups(struct levels *to, char *text)
{
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		open_line(to, line);
	}
}

/* The quota ----------------------------------------------------------------------------------- */

/* Thousandths of a core that a quota allows; UINT32_MAX: no limit. */
static uint32_t milli(long quota_us, long period_us)
{
	if (quota_us <= 0 || period_us <= 0)
		return UINT32_MAX;
	return (uint32_t)sl_min(quota_us * 1000ull / (uint64_t)period_us, (uint64_t)INT32_MAX);
}

/* "20000 100000", or "max 100000", in a file cpu.max. */
static uint32_t of_level(const struct level *l)
{
	char text[64], *end;
	long quota_us;

	read_kept(l->quota, text, sizeof(text));
	quota_us = strtol(text, &end, 10);
	if (l->period < 0)
		return milli(quota_us, strtol(end, NULL, 10));
	read_kept(l->period, text, sizeof(text));
	return milli(quota_us, strtol(text, NULL, 10));
}

static uint32_t of_levels(const struct levels *from)
{
	uint32_t least = UINT32_MAX;

	for (unsigned i = 0; i < from->n; i++)
		least = sl_min(least, of_level(&from->level[i]));
	return least == UINT32_MAX ? 0 : least;
}

struct others {
	char *text;
	uint32_t milli;
};

static void look_at_others(void *arg)
{
	struct levels levels = {.aside = true};
	struct others *o = arg;

	open_groups(&levels, o->text);
	o->milli = of_levels(&levels);
	close_levels(&levels);
}

static uint32_t read_groups(void)
{
	long pid = sl_sys(SYS_getpid);
	char text[TEXT_MAX], first[TEXT_MAX];
	struct others others = {.text = text};

	if (pid != own.pid) { /* a forked child has closed its parent's */
		memset(&own, 0, sizeof(own));
		own.pid = pid;
	}
	(void)sl_fd_once_read(&groups, "/proc/self/cgroup", text, sizeof(text));
	if (!own.groups[0]) {
		memcpy(own.groups, text, TEXT_MAX);
		memcpy(first, text, TEXT_MAX);
		open_groups(&own.levels, first);
	}
	if (!strcmp(text, own.groups))
		return of_levels(&own.levels);
	sl_aside(look_at_others, &others);
	return others.milli;
}

void sl_quota_close(void)
{
	if (!sl_trylock(&lock))
		return;
	if (own.pid == sl_sys(SYS_getpid))
		close_levels(&own.levels);
	memset(&own, 0, sizeof(own));
	sl_fd_once_end(&groups);
	sl_unlock(&lock);
}

uint32_t sl_quota_read(void)
{
	uint32_t milli;

	if (!sl_trylock(&lock))
		return 0;
	milli = read_groups();
	sl_unlock(&lock);
	return milli;
}
