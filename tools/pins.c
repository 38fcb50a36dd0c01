/* SPDX-License-Identifier: BSD-2-Clause */
/* The pinned maps of offloaded devices. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/kern/libbpf.h"
#include "ctl/steer/pin.h"
#include "tools.h"

int sl_pins_open(const char *device, const char *map)
{
	char path[160], name[SL_PIN_NAME];
	int fd;

	sl_pin_name(name, device, 0);
	snprintf(path, sizeof(path), SL_PIN_ROOT "/%.40s/%s", strchr(device, ':') ? device : name,
		 map);
	fd = sl_libbpf_load(NULL);
	if (fd < 0)
		return fd;
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

unsigned sl_pins_list(char names[][64], unsigned max)
{
	DIR *d = opendir(SL_PIN_ROOT);
	struct dirent *e;
	unsigned n = 0;

	while (d && n < max && (e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(names[n++], 64, "%.63s", e->d_name);
	if (d)
		closedir(d);
	return n;
}

bool sl_pins_hidden(const char *tool)
{
	if (!access(SL_PIN_ROOT, R_OK | X_OK) || errno != EACCES)
		return false;
	fprintf(stderr,
		"sluice %s: this user may not read " SL_PIN_ROOT
		", where the maps of offloaded devices are: run it as root\n",
		tool);
	return true;
}
