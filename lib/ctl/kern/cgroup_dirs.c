/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the lines of /proc/self/cgroup: "4:cpu,cpuacct:/group" for a hierarchy of version 1,
 * "0::/group" for version 2. */
#include "ctl/kern/cgroup_dirs.h"

#include <stdio.h>
#include <string.h>

#define MOUNT "/sys/fs/cgroup"

struct walk {
	const char *controller;
	void (*fn)(const struct sl_cgroup_dir *d, void *arg);
	void *arg;
};

/* True: the name is one of the controllers, as "cpu" in "cpu,cpuacct". */
static bool is_among(const char *name, const char *controllers)
{
	size_t len = strlen(name);

	for (;;) {
		if (!strncmp(controllers, name, len) &&
		    (controllers[len] == ',' || !controllers[len]))
			return true;
		controllers = strchr(controllers, ',');
		if (!controllers)
			return false;
		controllers++;
	}
}

static void each_upwards(const struct walk *w, const char *root, const char *path, bool v1)
{
	const size_t top = strlen(root);
	char dir[SL_CGROUP_DIR_MAX];
	const struct sl_cgroup_dir d = {.path = dir, .v1 = v1};
	bool at_top = false;

	if (snprintf(dir, sizeof(dir), "%s%s", root, path) >= (int)sizeof(dir))
		return;
	while (!at_top) {
		at_top = strlen(dir) <= top + 1;
		w->fn(&d, w->arg);
		*strrchr(dir, '/') = 0;
	}
}

static void each_of_line(const struct walk *w, char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char root[64];

	if (!path)
		return;
	*path++ = 0;
	controllers++;
	if (!*controllers)
		each_upwards(w, MOUNT, path, false);
	else if (is_among(w->controller, controllers) &&
		 snprintf(root, sizeof(root), MOUNT "/%s", controllers) < (int)sizeof(root))
		each_upwards(w, root, path, true);
}

void sl_cgroup_each_dir(char *text, const char *controller,
			void (*fn)(const struct sl_cgroup_dir *d, void *arg), void *arg)
{
	const struct walk w = {controller, fn, arg};

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		each_of_line(&w, line);
	}
}
