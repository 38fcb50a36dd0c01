/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that a program closes in ranges: which are its sockets, which are the library's own. */
#include "base/fds.h"
#include "sluice.h"
#include "sock/call/devices.h"
#include "sock/proc/fdtab.h"

void sl_close_range(unsigned first, unsigned last)
{
	unsigned end;

	sl_fdtab_notice();
	sl_devices_settle(true);
	end = sl_load(&sl_fdtab_end);
	for (unsigned fd = first; fd < end && fd <= last; fd++)
		if (sl_load(&sl_fdtab[fd]))
			sl_close((int)fd);
}

SL_API
bool sl_is_private(int fd)
{
	sl_devices_settle(true);
	return sl_fd_is_kept(fd);
}

SL_API
unsigned sl_next_private(unsigned first)
{
	return sl_fd_next_kept(first);
}
