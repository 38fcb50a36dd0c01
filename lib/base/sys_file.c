/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files, read and written by system calls of our own. */
#include "base/sys.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

bool sl_file_fits(size_t bytes)
{
	struct rlimit64 files;

	return sl_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &files) == 0 && files.rlim_cur >= bytes;
}

int sl_file_freeze(int fd)
{
	const long flags = FS_IMMUTABLE_FL;
	int err = sl_sysi(SYS_fchmod, fd, 0600);

	if (!err)
		(void)sl_sys(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
	return err;
}

long sl_write_quietly(int fd, const char *text, size_t len)
{
	const uint64_t both = 1ull << (SIGPIPE - 1) | 1ull << (SIGXFSZ - 1);
	uint64_t old, caused = 0, pending = 0;
	struct timespec none = {0, 0};
	long n;

	if (sl_sys(SYS_rt_sigprocmask, SIG_BLOCK, &both, &old, 8))
		return -EINVAL;
	(void)sl_sys(SYS_rt_sigpending, &pending, 8);
	n = sl_sys_write(fd, text, len);
	if (n == -EPIPE)
		caused = 1ull << (SIGPIPE - 1);
	else if (n == -EFBIG)
		caused = 1ull << (SIGXFSZ - 1);
	caused &= ~pending;
	if (caused)
		(void)sl_sys(SYS_rt_sigtimedwait, &caused, NULL, &none, 8);
	(void)sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
	return n;
}

long sl_read_text(const char *path, char *text, size_t size)
{
	int fd = sl_sysi(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? fd : sl_sys_read(fd, text, size - 1);

	if (fd >= 0)
		sl_sys_close(fd);
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = 0;
	return n;
}

int sl_write_all(int fd, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes) {
		long ret = sl_sys_write(fd, p, bytes);

		if (ret <= 0)
			return ret ? (int)ret : -EIO;
		p += ret;
		bytes -= (size_t)ret;
	}
	return 0;
}
