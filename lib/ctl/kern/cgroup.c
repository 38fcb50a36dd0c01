/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks for the effective programs of the process's own control group, which those of its parents
 * are among (BPF_F_QUERY_EFFECTIVE). Only control groups of version 2 have programs. */
#include "ctl/kern/cgroup.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "base/fds.h"
#include "base/lock.h"
#include "base/sys.h"

static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
static const uint32_t types[] = {BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT,
				 BPF_CGROUP_UDP4_SENDMSG,  BPF_CGROUP_UDP6_SENDMSG,
				 BPF_CGROUP_UDP4_RECVMSG,  BPF_CGROUP_UDP6_RECVMSG};

/* The line of version 2 is "0::/path"; the path begins at the mount. NULL: there is none. */
static const char *own_path(char *text)
{
	char *line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	char *path = line ? strchr(line, '/') : NULL;

	if (path)
		path[strcspn(path, "\n")] = 0;
	return path;
}

static struct sl_fd_once proc; /* /proc/self/cgroup */
/* The group that it named; open as long as the process is this one. */
static struct {
	int dir; /* -1: none */
	long pid;
	char path[256];
} own = {-1, 0, ""};

static void close_own(void)
{
	if (own.dir >= 0)
		sl_sys_close(own.dir);
	own.dir = -1;
}

/* -1: there is none that the kernel tells. */
static int open_group(const char *path)
{
	char name[2048 + 32];
	int dir = -1;

	for (unsigned i = 0; i < sl_array_len(mounts) && dir < 0; i++) {
		snprintf(name, sizeof(name), "%s%s/cgroup.procs", mounts[i], path);
		if (sl_sys(SYS_faccessat, AT_FDCWD, name, 0))
			continue; /* not of version 2 */
		*strrchr(name, '/') = 0;
		dir = sl_sysi(SYS_openat, AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	return dir;
}

static void open_own(const char *path)
{
	own.dir = sl_fd_guard(sl_fd_keep(open_group(path)));
	snprintf(own.path, sizeof(own.path), "%s", path);
}

static uint32_t count(int fd, uint32_t type)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)fd;
	attr.query.attach_type = type;
	attr.query.query_flags = BPF_F_QUERY_EFFECTIVE;
	return sl_sys(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr.query)) < 0 ? 0
									      : attr.query.prog_cnt;
}

static bool has_programs(int fd)
{
	bool any = false;

	for (unsigned i = 0; fd >= 0 && i < sl_array_len(types) && !any; i++)
		any = count(fd, types[i]) > 0;
	return any;
}

struct other {
	const char *path;
	bool any;
};

static void look_at_other(void *arg)
{
	struct other *o = arg;
	int fd = open_group(o->path);

	o->any = has_programs(fd);
	if (fd >= 0)
		sl_sysi(SYS_close, fd);
}

/* The group that the first look finds stays open. One that the process is moved to later is opened
 * aside at each look. */
static bool look(void)
{
	struct other other = {0};
	long pid = sl_sys(SYS_getpid);
	char text[2048];

	if (pid != own.pid) { /* a forked child has closed its parent's */
		own.dir = -1;
		own.pid = pid;
		own.path[0] = 0;
	}
	(void)sl_fd_once_read(&proc, "/proc/self/cgroup", text, sizeof(text));
	other.path = own_path(text);
	if (!other.path)
		return false;
	if (!own.path[0])
		open_own(other.path);
	if (!strcmp(other.path, own.path))
		return has_programs(own.dir);
	sl_aside(look_at_other, &other);
	return other.any;
}

static struct sl_lock lock; /* tried, never waited for: a fork may have copied it held */

bool sl_cgroup_has_programs(void)
{
	bool any;

	if (!sl_trylock(&lock))
		return false;
	any = look();
	sl_unlock(&lock);
	return any;
}

void sl_cgroup_forget(void)
{
	if (!sl_trylock(&lock))
		return;
	close_own();
	sl_fd_once_end(&proc);
	own.pid = 0;
	sl_unlock(&lock);
}
