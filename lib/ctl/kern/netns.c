/* SPDX-License-Identifier: BSD-2-Clause */
/* The network namespace of this thread. */
#include "ctl/kern/netns.h"

#include <sys/stat.h>

#include "base/base.h"

static bool parted;   /* atomic */
static uint32_t home; /* 0: not known */

uint32_t sl_netns_ino(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) ? 0 : (uint32_t)st.st_ino;
}

void sl_netns_part(void)
{
	sl_store(&parted, true);
}

void sl_netns_settle(void)
{
	home = sl_netns_ino();
}

bool sl_netns_is_foreign(void)
{
	return sl_unlikely(sl_load(&parted)) && home && sl_netns_ino() != home;
}
