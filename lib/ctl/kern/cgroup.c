/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks for the effective programs of the process's own control group, which those of its parents
 * are among (BPF_F_QUERY_EFFECTIVE). Only control groups of version 2 have programs. */
#include "ctl/kern/cgroup.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

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

static int open_own(void)
{
	char text[2048], name[sizeof(text) + 32];
	const char *path;
	int fd = -1;

	if (sl_read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return -1;
	path = own_path(text);
	for (unsigned i = 0; path && i < sl_array_len(mounts) && fd < 0; i++) {
		snprintf(name, sizeof(name), "%s%s/cgroup.procs", mounts[i], path);
		if (sl_sys(SYS_faccessat, AT_FDCWD, name, 0))
			continue; /* not of version 2 */
		*strrchr(name, '/') = 0;
		fd = sl_sysi(SYS_openat, AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	return fd;
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

bool sl_cgroup_has_programs(void)
{
	int fd = open_own();
	bool any = false;

	if (fd < 0)
		return false;
	for (unsigned i = 0; i < sl_array_len(types) && !any; i++)
		any = count(fd, types[i]) > 0;
	(void)sl_sys_close(fd);
	return any;
}
