/* SPDX-License-Identifier: BSD-2-Clause */
/* The directories of a process's control groups. */
#ifndef SL_CGROUP_DIRS_H
#define SL_CGROUP_DIRS_H

#include "base/base.h"

#define SL_CGROUP_DIR_MAX 512

struct sl_cgroup_dir {
	const char *path;
	bool v1; /* of version 1: other names of the same files */
};

/* Calls fn for the process's control group that the controller ("cpu", "memory") is in, and then
 * for each one around it, the file system's top last (the group of all, or of a namespace). text:
 * of /proc/self/cgroup; changed. A group whose path is longer than SL_CGROUP_DIR_MAX is left out.
 * Makes no descriptor. Any thread. */
void sl_cgroup_each_dir(char *text, const char *controller,
			void (*fn)(const struct sl_cgroup_dir *d, void *arg), void *arg);

#endif
