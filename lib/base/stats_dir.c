/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the counters of processes are. */
#include "base/stats_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "base/sys.h"
#include "base/trust.h"

#define RUN "/run/sluice" /* sluiced's, or made by the first program of root's */

/* Directories of a user's counters: the path before the user's number, and after it. */
static const struct {
	const char *before, *after;
} places[] = {{RUN "/", ""}, {"/run/user/", "/sluice"}, {"/dev/shm/sluice-", ""}};

int sl_user_dir_open(char *path, size_t size)
{
	unsigned uid = (unsigned)sl_sys(SYS_geteuid);
	int fd = -ENOENT;

	if (uid == 0)
		sl_sys(SYS_mkdirat, AT_FDCWD, RUN, 0755);
	for (unsigned i = 0; i < sl_array_len(places) && fd < 0; i++) {
		snprintf(path, size, "%s%u%s", places[i].before, uid, places[i].after);
		fd = sl_own_dir(path);
	}
	return fd;
}

int sl_stats_dir_open(char *path, size_t size)
{
	const char *dir = sl_settings.stats_shmem_dir;

	if (strcmp(dir, SL_STATS_AUTO) != 0) {
		snprintf(path, size, "%s", dir);
		return dir[0] ? (int)sl_sys(SYS_openat, AT_FDCWD, dir,
					    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
			      : -ENOENT;
	}
	return sl_user_dir_open(path, size);
}

/* Calls f for each directory of the place that this process may read: its user's; for root all
 * users'. */
static bool each_of(unsigned i, bool (*f)(const char *path, void *arg), void *arg)
{
	const char *before = places[i].before, *slash = strrchr(before, '/') + 1;
	char path[600], own[16];
	struct dirent *e;
	bool go_on = true, all = sl_sys(SYS_geteuid) == 0;
	DIR *d;

	snprintf(own, sizeof(own), "%u", (unsigned)sl_sys(SYS_geteuid));
	snprintf(path, sizeof(path), "%.*s", (int)(slash - before), before);
	d = opendir(path);
	while (d && go_on && (e = readdir(d))) {
		const char *number = e->d_name + strlen(slash);

		if (strncmp(e->d_name, slash, strlen(slash)) != 0 || !*number ||
		    number[strspn(number, "0123456789")] || (!all && strcmp(number, own) != 0))
			continue;
		snprintf(path, sizeof(path), "%.*s%s%s", (int)(slash - before), before, e->d_name,
			 places[i].after);
		if (!sl_sys(SYS_faccessat, AT_FDCWD, path, R_OK | X_OK))
			go_on = f(path, arg);
	}
	if (d)
		closedir(d);
	return go_on;
}

void sl_stats_dirs(const char *setting, bool (*f)(const char *path, void *arg), void *arg)
{
	if (strcmp(setting, SL_STATS_AUTO) != 0) {
		f(setting, arg);
		return;
	}
	for (unsigned i = 0; i < sl_array_len(places) && each_of(i, f, arg); i++)
		;
}
