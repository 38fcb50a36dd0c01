/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of the process by _exit(2), which runs no handlers of atexit(3): the library's work there
 * is done here. The kernel finishes the connections then, and a child that has one goes on with it,
 * as after exit(3). */
#include "real.h"

#include <stdlib.h>
#include <sys/syscall.h>

void _exit(int status)
{
	if (lib_is_there() && !sl_in_vfork)
		lib.exit_begin();
	for (;;)
		sl_raw(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}
