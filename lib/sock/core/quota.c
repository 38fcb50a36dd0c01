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
#include "ctl/kern/cgroup_dirs.h"

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
	char path[SL_CGROUP_DIR_MAX + 32];
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

/* The top, too: in a control group namespace, or where a container's group is mounted there, it is
 * a group with a quota. (The machine's own has no such file, or one that says none.) */
static void open_level(const struct sl_cgroup_dir *d, void *arg)
{
	struct levels *to = arg;
	struct level l = {-1, -1};

	if (to->n == LEVELS)
		return;
	l.quota = open_in(d->path, d->v1 ? "cpu.cfs_quota_us" : "cpu.max", to->aside);
	if (l.quota < 0)
		return;
	if (d->v1)
		l.period = open_in(d->path, "cpu.cfs_period_us", to->aside);
	to->level[to->n++] = l;
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

	sl_cgroup_each_dir(o->text, "cpu", open_level, &levels);
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
		sl_cgroup_each_dir(first, "cpu", open_level, &own.levels);
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
