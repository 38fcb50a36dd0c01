/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a thread, which may be the process's last one.
 * The end of the process by _exit(2), which runs no handlers of atexit(3): the library's work there
 * is done here. The kernel finishes the connections then, and a child that has one goes on with it,
 * as after exit(3). */
#include "real.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>

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

static void before_end(void (*end)(int), int code)
{
	if (lib_is_there() && !sl_in_vfork)
		lib.thread_ends(end, code);
}

void pthread_exit(void *value)
{
	before_end(exit, 0);
	REAL(pthread_exit)(value);
	__builtin_unreachable();
}

__attribute__((visibility("default"))) void thrd_exit(int value)
{
	before_end(exit, 0);
	REAL(thrd_exit)(value);
	__builtin_unreachable();
}

SL_SYS(exit)
{
	SL_SYS_UNUSED;
	before_end(NULL, (int)a);
	return sl_raw(SYS_exit, a);
}
