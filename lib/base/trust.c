/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of files, directories and the environment before this process trusts them. */
#include "base/trust.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/sys.h"

bool sl_is_secure_exec(void)
{
	return getauxval(AT_SECURE) != 0;
}

uint32_t sl_sole_user(void)
{
	uint32_t real = UINT32_MAX, effective = 0, saved = 0;

	(void)sl_sys(SYS_getresuid, &real, &effective, &saved);
	return real == effective && real == saved ? real : UINT32_MAX;
}

/* True: a user other than root and this one could change the file, or what is in it. */
static bool is_changeable(const struct stat *st)
{
	uint32_t me = sl_sole_user();

	if (st->st_uid != 0 && st->st_uid != me)
		return true;
	return (st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX));
}

bool sl_path_resolve(const char *path, char *real, size_t size)
{
	int fd = (int)sl_sys(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	char link[32];
	long n;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = sl_sys(SYS_readlinkat, AT_FDCWD, link, real, size - 1);
	sl_sys_close(fd);
	if (n <= 0 || n >= (long)size - 1 || real[0] != '/')
		n = 0;
	real[n] = 0;
	return n > 0;
}

bool sl_file_is_trusted(const char *path)
{
	char real[1024], *end;
	struct stat st;

	if (path[0] != '/' || !sl_path_resolve(path, real, sizeof(real)))
		return false;
	if (sl_sys(SYS_newfstatat, AT_FDCWD, real, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || is_changeable(&st))
		return false;
	while ((end = strrchr(real, '/'))) {
		end[end == real] = 0; /* the root keeps its name */
		if (sl_sys(SYS_newfstatat, AT_FDCWD, real, &st, AT_SYMLINK_NOFOLLOW) ||
		    is_changeable(&st))
			return false;
		if (end == real)
			break;
	}
	return true;
}

int sl_own_dir(const char *path)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	uint32_t me = sl_sole_user();
	struct stat st;
	int err, fd;

	if (me == UINT32_MAX)
		return -EPERM;
	err = (int)sl_sys(SYS_mkdirat, AT_FDCWD, path, 0700);
	if (err && err != -EEXIST)
		return err;
	fd = (int)sl_sys(SYS_openat, AT_FDCWD, path, flags, 0);
	if (fd < 0)
		return fd;
	err = (int)sl_sys(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
	if (!err && (st.st_uid != me || (st.st_mode & 077)))
		err = -EPERM;
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

void sl_make_printable(char *text)
{
	unsigned char *c = (unsigned char *)text;

	for (; *c; c++) {
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
		else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
			c[0] = c[1] = '?';
	}
}
