/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that lost its link when its last user left it.
 *
 * Some drivers restart their device when a program is attached or taken off, which costs the link
 * for seconds. A process that opens the device meanwhile finds no link, and could not tell that
 * from a missing cable. So the process that leaves marks it, by the age of a directory below
 * /sys/fs/bpf/sluice-left. */
#include "ctl/steer/left.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"
#include "ctl/device/link.h"
#include "ctl/device/port.h"
#include "ctl/kern/netns.h"
#include "ctl/steer/attach.h"

#define LEFT_ROOT "/sys/fs/bpf/sluice-left"

/* By number: a name may be given to another. */
static void path_of(char path[64], uint32_t ifindex)
{
	snprintf(path, 64, LEFT_ROOT "/%u-%u", ifindex, sl_netns_ino());
}

static bool left_lately(uint32_t ifindex)
{
	struct timespec now;
	struct stat st;
	char path[64];
	int64_t age_ns;

	path_of(path, ifindex);
	if (stat(path, &st) || (st.st_uid && st.st_uid != geteuid()) ||
	    clock_gettime(CLOCK_REALTIME_COARSE, &now))
		return false;
	age_ns = (now.tv_sec - st.st_mtim.tv_sec) * 1000000000ll + now.tv_nsec - st.st_mtim.tv_nsec;
	return age_ns >= 0 && age_ns < (int64_t)SL_LINK_BACK_NS;
}

bool sl_left_had_link(uint32_t ifindex)
{
	struct sl_link_now now;

	return !sl_link_look(ifindex, &now) && (now.carrier || left_lately(ifindex));
}

void sl_left_without(uint32_t ifindex)
{
	struct sl_link_now now;
	char path[64];
	int fd;

	if (!sl_bpffs_is_there() || sl_link_look(ifindex, &now) || now.carrier)
		return;
	path_of(path, ifindex);
	rmdir(path);
	fd = sl_bpffs_dir(LEFT_ROOT);
	if (fd < 0)
		return;
	(void)mkdir(path, 0755);
	sl_sys_close(fd);
}
