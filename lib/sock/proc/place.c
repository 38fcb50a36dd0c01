/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the keeper runs: SLUICE_INTERNAL_THREAD_CPUSET and SLUICE_INTERNAL_THREAD_AFFINITY. */
#include <fcntl.h>
#include <string.h>

#include "base/cpus.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/proc/keeper.h"

/* Writes our thread id to a file of the cpuset's directory. */
static int join_by(const char *file)
{
	char path[sizeof(sl_settings.internal_thread_cpuset) + 32], id[16];
	size_t dir = strlen(sl_settings.internal_thread_cpuset), n = 0;
	uint32_t tid = sl_tid();
	int fd, err;

	memcpy(path, sl_settings.internal_thread_cpuset, dir);
	memcpy(path + dir, file, strlen(file) + 1);
	for (uint32_t t = tid; t; t /= 10)
		n++;
	for (size_t i = n; i-- > 0; tid /= 10)
		id[i] = (char)('0' + tid % 10);
	fd = (int)sl_sys(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	err = (int)sl_sys_write(fd, id, n);
	sl_sys_close(fd);
	return sl_min(err, 0);
}

/* Version 2 has no file `tasks`; the cgroup must be a threaded one there. */
static void join_cpuset(void)
{
	int err = join_by("/tasks");

	if (err == -ENOENT)
		err = join_by("/cgroup.threads");
	if (err < 0)
		sl_warn("keeper", "the internal thread cannot join the cpuset %s: %s",
			sl_settings.internal_thread_cpuset, strerrorname_np(-err));
}

void sl_keeper_place(void)
{
	cpu_set_t set;
	int err;

	if (sl_settings.internal_thread_cpuset[0])
		join_cpuset();
	err = sl_cpus_parse(sl_settings.internal_thread_affinity, &set);
	if (err == -ENOENT)
		return;
	if (err == 0)
		err = (int)sl_min(sl_sys(SYS_sched_setaffinity, 0, sizeof(set), &set), 0l);
	if (err < 0)
		sl_warn("keeper", "the internal thread cannot run on the cores %s: %s",
			sl_settings.internal_thread_affinity, strerrorname_np(-err));
}
