/* SPDX-License-Identifier: BSD-2-Clause */
/* The network namespace of this thread. */
#include "ctl/kern/netns.h"

#include <sys/stat.h>

uint32_t sl_netns_ino(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) ? 0 : (uint32_t)st.st_ino;
}
