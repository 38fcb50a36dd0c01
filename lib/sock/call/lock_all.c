/* SPDX-License-Identifier: BSD-2-Clause */
/* mlockall(2) of a program whose limit of locked memory has no room for the library's memory.
 *
 * Theory of operation: the kernel compares all addresses in use with RLIMIT_MEMLOCK, and the
 * library's are 20 times a small program's. When it has refused, the program's mappings are locked
 * one by one. The library's are known by a flag that programs hardly use: they are kept out of core
 * dumps (MADV_DONTDUMP), and the kernel tells that (VmFlags in smaps). Files of the library have
 * names of their own. Addresses without access have nothing that could be locked. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/compat.h"
#include "base/log.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/move/move.h"

#define ROW  512  /* the longest line that is looked at as a whole */
#define MORE 1024 /* read at a time */

struct text {
	int fd;
	size_t at, n;
	char buf[MORE];
};

/* Reads the next line, without its newline; what is longer than a row is left out. False: the end.
 */
static bool next_line(struct text *t, char row[ROW])
{
	size_t len = 0;

	for (;;) {
		if (t->at == t->n) {
			long n = sl_sys_read(t->fd, t->buf, sizeof(t->buf));

			if (n <= 0)
				return false;
			t->n = (size_t)n;
			t->at = 0;
		}
		if (t->buf[t->at] == '\n')
			break;
		if (len < ROW - 1)
			row[len++] = t->buf[t->at];
		t->at++;
	}
	t->at++;
	row[len] = 0;
	return true;
}

struct mapping {
	uintptr_t from, to;
	bool ours;
};

static bool is_name_of_ours(const char *row)
{
	return strstr(row, "/memfd:sluice") || strstr(row, "/sluice.") ||
	       strstr(row, " socket:[") || strstr(row, "anon_inode:bpf");
}

/* Code and data of the kernel's own, which are not locked. */
static bool is_kernels(const char *row)
{
	return strstr(row, "[vsyscall]") || strstr(row, "[vvar") || strstr(row, "[vdso]");
}

/* Calls fn for each mapping that is the program's. 0 or -errno. */
static int for_each(void (*fn)(const struct mapping *m, void *arg), void *arg)
{
	struct text t = {
		.fd = (int)sl_sys(SYS_openat, AT_FDCWD, "/proc/self/smaps", O_RDONLY | O_CLOEXEC)};
	struct mapping m = {0};
	char row[ROW];
	unsigned long from, to;

	if (t.fd < 0)
		return t.fd;
	while (next_line(&t, row)) {
		if (sscanf(row, "%lx-%lx %*4s", &from, &to) == 2) {
			m = (struct mapping){from, to,
					     is_name_of_ours(row) || is_kernels(row) ||
						     strstr(row, " ---p ")};
		} else if (!strncmp(row, "VmFlags:", 8) && !m.ours && !strstr(row, " dd")) {
			fn(&m, arg);
		}
	}
	(void)sl_sys_close(t.fd);
	return 0;
}

static void count(const struct mapping *m, void *arg)
{
	*(uint64_t *)arg += m->to - m->from;
}

/* (A page that cannot be brought in is locked all the same, as mlockall(2) does.) */
static void lock(const struct mapping *m, void *arg)
{
	sl_sys(SYS_mlock2, m->from, m->to - m->from,
	       *(const int *)arg & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
}

SL_API
int sl_lock_all(int flags)
{
	struct rlimit64 limit;
	uint64_t bytes = 0;

	if (sl_inherit_is_confined() || sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit) ||
	    for_each(count, &bytes) || bytes > limit.rlim_cur || for_each(lock, &flags))
		return -ENOMEM;
	sl_info("mem",
		"mlockall: the program's %llu KB are locked, the library's memory is not: the "
		"limit is %llu KB; remedy: ulimit -l unlimited (LimitMEMLOCK=infinity)",
		(unsigned long long)bytes >> 10, (unsigned long long)limit.rlim_cur >> 10);
	return flags & MCL_FUTURE ? sl_sysi(SYS_mlockall, flags & ~MCL_CURRENT) : 0;
}
