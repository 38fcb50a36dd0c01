/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice reaper: the library's helper process (lib/ctl/reaper.h); not for users. */
#include <stdio.h>
#include <stdlib.h>

#include "ctl/reaper.h"

int sl_tool_reaper(int argc, char **argv);

int sl_tool_reaper(int argc, char **argv)
{
	char *end;
	unsigned long ifindex;

	if (argc != 2)
		goto usage;
	ifindex = strtoul(argv[1], &end, 10);
	if (*end || !ifindex || ifindex > UINT32_MAX)
		goto usage;
	return sl_reaper_run((uint32_t)ifindex);
usage:
	fprintf(stderr, "sluice reaper is started by libsluice\n");
	return 2;
}
