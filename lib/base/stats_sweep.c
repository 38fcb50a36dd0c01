/* SPDX-License-Identifier: BSD-2-Clause */
/* Removes the files of counters that killed programs of this user have left.
 *
 * A killed program removes nothing, and the daemon cannot do it instead: it is another user, has
 * given up that power, and may see another /run. So the next program of the same user does it. It
 * cannot see processes of another pid namespace that use the same directory, but every live process
 * has a lock on its file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/stats.h"
#include "base/stats_dir.h"
#include "base/sys.h"

#define READS 64 /* of a piece of the directory each: more is left for the next one */
#define FILES 16 /* to be removed, as well */

static bool begun; /* once in a process and its children */

uint32_t sl_stats_pid_of(const char *name)
{
	static const char head[] = "sluice.", tail[] = ".stats";
	uint32_t pid = 0;

	if (strncmp(name, head, sizeof(head) - 1) != 0)
		return 0;
	name += sizeof(head) - 1;
	while (*name >= '0' && *name <= '9' && pid < (1u << 26)) /* more than PID_MAX_LIMIT */
		pid = pid * 10 + (uint32_t)(*name++ - '0');
	return strcmp(name, tail) == 0 ? pid : 0;
}

bool sl_stats_is_held(int at, const char *name)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = (int)sl_sys(SYS_openat, at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool free =
		fd >= 0 && sl_sys(SYS_fcntl, fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;

	if (fd >= 0)
		(void)sl_sys_close(fd);
	return !free && fd != -ENOENT;
}

/* Returns whether that took its time. */
static bool look_at_file(int dir, const char *name, uint32_t uid)
{
	uint32_t pid = sl_stats_pid_of(name);
	struct stat st;

	if (!pid || sl_sys(SYS_kill, pid, 0) != -ESRCH)
		return false;
	if (sl_sys(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == uid &&
	    S_ISREG(st.st_mode) && !sl_stats_is_held(dir, name))
		(void)sl_sys(SYS_unlinkat, dir, name, 0);
	return true;
}

void sl_stats_sweep(void)
{
	char buf[2048] __attribute__((aligned(8))), path[200];
	uint32_t uid = (uint32_t)sl_sys(SYS_geteuid);
	int dir, dead = 0;
	long n = 0;

	if (begun || !sl_stats_path()[0])
		return;
	begun = true;
	dir = sl_stats_dir_open(path, sizeof(path));
	for (int i = 0; dir >= 0 && i < READS && dead < FILES; i++) {
		n = sl_sys(SYS_getdents64, dir, buf, sizeof(buf));
		if (n <= 0)
			break;
		for (long at = 0; at < n && dead < FILES;) {
			const struct dirent64 *e = (const void *)(buf + at);

			dead += look_at_file(dir, e->d_name, uid);
			at += e->d_reclen;
		}
	}
	if (dir >= 0)
		(void)sl_sys_close(dir);
}
