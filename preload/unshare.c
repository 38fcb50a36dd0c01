/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls by which a thread leaves what it shares with others: namespaces, the table of descriptors.
 *
 * Theory of operation: the kernel refuses some of these to a process of several threads, and others
 * give the caller a copy, while the library's thread would keep all descriptors of before open. So
 * the library is without its thread during the call. A process that enters a user namespace loses
 * its rights over its devices, as one does that becomes another user (creds.c). */
#include "real.h"

#include <linux/close_range.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/syscall.h>

/* The kernel checks that the caller is the only thread (check_unshare_flags(), mntns_install()). */
#define ALONE (CLONE_NEWNS | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)

bool sl_unshare_begin(int flags)
{
	int saved = errno;
	bool begun = false;

	if (flags & CLONE_NEWNET)
		sl_netns_changes();
	if (!lib_is_there() || sl_in_vfork)
		return false;
	if (flags & CLONE_NEWUSER)
		lib.creds_begin(SL_CREDS_USERNS, 0, 0, 0);
	if (flags & (ALONE | CLONE_FILES))
		begun = lib.alone_begin(flags & CLONE_FILES);
	errno = saved;
	return begun;
}

void sl_unshare_end(bool begun)
{
	int saved = errno;

	if (begun)
		lib.alone_end();
	errno = saved;
}

/* The kinds that setns(2) would change: type 0 leaves that to the descriptor, which may also be a
 * process's (then type has all kinds). */
static int kinds_of(int fd, int type)
{
	int saved = errno;

	if (!type)
		type = (int)sl_raw(SYS_ioctl, fd, NS_GET_NSTYPE);
	errno = saved;
	return type > 0 ? type & (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) : 0;
}

SL_SYS(unshare)
{
	/* A mount namespace is new for the caller alone. */
	bool begun = sl_unshare_begin((int)a & ~CLONE_NEWNS);
	long r;

	SL_SYS_UNUSED;
	r = sl_raw(SYS_unshare, a);
	sl_unshare_end(begun);
	return r;
}

SL_SYS(setns)
{
	bool begun = sl_unshare_begin(kinds_of((int)a, (int)b));
	long r;

	SL_SYS_UNUSED;
	r = sl_raw(SYS_setns, a, b);
	sl_unshare_end(begun);
	return r;
}

int unshare(int flags)
{
	return (int)sl_sys_unshare(flags, 0, 0, 0, 0, 0);
}

int setns(int fd, int type)
{
	return (int)sl_sys_setns(fd, type, 0, 0, 0, 0);
}
