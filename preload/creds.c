/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls by which a program becomes another user or gives up rights: the library hears of each
 * before.
 *
 * Theory of operation: the library decides by the arguments whether the call changes anything. A
 * child of vfork(2) is left out: it has the parent's memory, where nothing may change, and its own
 * mappings end with its execve(2). Such calls by syscall(2) come from syscall.c. The saved ID stays
 * with seteuid(2) and the like: these part nothing, but the keeper may be about to open a device,
 * with rights that the new ID lacks. */
#include "real.h"

#include <sys/syscall.h>

#define MANY 1024 /* groups; initgroups(3) finds more for hardly any user */

static void begin_change(enum sl_creds what, long a, long b, long c)
{
	if (lib_is_there() && !sl_in_vfork)
		lib.creds_begin(what, a, b, c);
}

int setuid(uid_t uid)
{
	begin_change(SL_CREDS_SETUID, uid, 0, 0);
	return REAL(setuid)(uid);
}

int setreuid(uid_t real, uid_t effective)
{
	begin_change(SL_CREDS_SETREUID, real, effective, 0);
	return REAL(setreuid)(real, effective);
}

int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	begin_change(SL_CREDS_SETRESUID, real, effective, saved);
	return REAL(setresuid)(real, effective, saved);
}

int seteuid(uid_t uid)
{
	begin_change(SL_CREDS_SETRESUID, -1, uid, -1);
	return REAL(seteuid)(uid);
}

int setgid(gid_t gid)
{
	begin_change(SL_CREDS_SETGID, gid, 0, 0);
	return REAL(setgid)(gid);
}

int setregid(gid_t real, gid_t effective)
{
	begin_change(SL_CREDS_SETREGID, real, effective, 0);
	return REAL(setregid)(real, effective);
}

int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	begin_change(SL_CREDS_SETRESGID, real, effective, saved);
	return REAL(setresgid)(real, effective, saved);
}

int setgroups(size_t n, const gid_t *list)
{
	begin_change(SL_CREDS_SETGROUPS, (long)n, (long)list, 0);
	return REAL(setgroups)(n, list);
}

/* initgroups(3) calls setgroups(2) inside the C library, past the wrapper. */
int initgroups(const char *user, gid_t group)
{
	gid_t list[MANY];
	int n = MANY, saved = errno;

	if (lib_is_there() && !sl_in_vfork) {
		/* -1: more groups than `list` holds, so certainly others than now. */
		if (getgrouplist(user, group, list, &n) < 0)
			n = -1;
		errno = saved;
		begin_change(SL_CREDS_SETGROUPS, n, (long)list, 0);
	}
	return REAL(initgroups)(user, group);
}

int capset(void *header, const void *data)
{
	begin_change(SL_CREDS_CAPSET, (long)header, (long)data, 0);
	return REAL(capset)(header, data);
}

int chroot(const char *path)
{
	begin_change(SL_CREDS_CHROOT, (long)path, 0, 0);
	return REAL(chroot)(path);
}

#if defined(__x86_64__)
/* A call from the table made by syscall(2); nr is its number. */
long sl_syscall_creds(long a, long b, long c, long nr)
{
	static const short calls[][2] = {
		{SYS_setuid, SL_CREDS_SETUID},       {SYS_setreuid, SL_CREDS_SETREUID},
		{SYS_setresuid, SL_CREDS_SETRESUID}, {SYS_setgid, SL_CREDS_SETGID},
		{SYS_setregid, SL_CREDS_SETREGID},   {SYS_setresgid, SL_CREDS_SETRESGID},
		{SYS_setgroups, SL_CREDS_SETGROUPS}, {SYS_capset, SL_CREDS_CAPSET},
		{SYS_chroot, SL_CREDS_CHROOT},
	};
	long r;

	for (unsigned i = 0; i < sl_array_len(calls); i++)
		if (calls[i][0] == nr)
			begin_change((enum sl_creds)calls[i][1], a, b, c);
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return done(r);
}
#endif
