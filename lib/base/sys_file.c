/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files, read and written by system calls of our own, and a table of descriptors for that. */
#include "base/sys.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "base/roomy.h"
#include "base/roomy_asm.h"

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
	return sl_read_text_at(AT_FDCWD, path, text, size);
}

long sl_read_text_at(int dir, const char *path, char *text, size_t size)
{
	int fd = sl_sysi(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? fd : sl_sys_read(fd, text, size - 1);

	if (fd >= 0)
		sl_sysi(SYS_close, fd);
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

/* Aside ---------------------------------------------------------------------------------------- */

struct aside {
	void (*fn)(void *arg);
	void *arg;
	bool done;
	uint32_t tid; /* the kernel writes it: the thread's number, 0: it has ended */
};

/* The C library's, by the name that nobody interposes (ctl/broker/helper.c). */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

static int aside(void *arg)
{
	struct aside *a = arg;

	if (sl_syscall6(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE, 0, 0, 0))
		return 0;
	a->fn(a->arg);
	a->done = true;
	return 0;
}

/* Waits for the end of the thread, which wakes by a futex that is not private. */
static void await(const uint32_t *tid)
{
	uint32_t t;

	while ((t = sl_load_acquire(tid)))
		sl_sys(SYS_futex, tid, FUTEX_WAIT, t, NULL);
}

static void run_aside(struct aside *a, char *stack)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	const uint64_t all = ~0ull;
	int err = errno;
	uint64_t old;

	if (sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8))
		return;
	if (__clone(aside, stack + SL_ROOMY_BYTES, flags, a, &a->tid, NULL, &a->tid) > 0)
		await(&a->tid);
	(void)sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
	errno = err;
}

void sl_aside(void (*fn)(void *arg), void *arg)
{
	struct aside a = {.fn = fn, .arg = arg};
	char *stack = NULL;

#ifndef SL_ROOMY_SANITIZED
	stack = sl_roomy_get();
#endif
	if (stack)
		run_aside(&a, stack);
	sl_roomy_put(stack);
	if (!a.done)
		fn(arg);
}

struct reading {
	const char *path;
	char *text;
	size_t size;
	long n;
};

static void read_text(void *arg)
{
	struct reading *r = arg;

	r->n = sl_read_text(r->path, r->text, r->size);
}

long sl_read_text_aside(const char *path, char *text, size_t size)
{
	struct reading r = {path, text, size, 0};

	sl_aside(read_text, &r);
	return r.n;
}
