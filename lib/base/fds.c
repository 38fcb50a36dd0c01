/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of the library's own descriptors.
 *
 * Theory of operation: POSIX promises a program the lowest free number, and programs count on it
 * (close(0) then open; select's 1024). RLIMIT_NOFILE bounds numbers, not descriptors: a descriptor
 * that was made under a higher limit stays. So sl_fd_dup() raises the soft limit for the moment of
 * the move. Ours lie just past the limit, where the program's own calls never look: neither open
 * nor dup2 nor a loop that closes everything up to the limit. Where soft and hard limit are the
 * same, and the process lacks CAP_SYS_RESOURCE to raise both, ours take the end of the range, an
 * eighth or more of it; where the limit is generous they begin past select's reach. */
#include "base/fds.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/lock.h"
#include "base/sys.h"

#define SELECT_END 1024

/* A soft limit from here on leaves room for the program beside ours. (Some programs set the limit
 * to what they need: redis 10,032. The kernel's table grows with the highest number.) */
#define GENEROUS 16384
#define ROOM     1024 /* numbers past the soft limit that ours may take */

uint64_t sl_fd_bits[SL_FD_MAX / 64];
static uint64_t guards[SL_FD_MAX / 64]; /* those that a child must close */
static uint32_t kept_end;               /* no bit is set from here on */
static bool generous;                   /* the limit was generous at the last look */
static struct sl_lock limit_lock;

static int dup_from(int fd, uint64_t first)
{
	return sl_sys_fcntl(fd, F_DUPFD_CLOEXEC, first);
}

/* Takes a number in the last eighth below `end`; if that is full, in the last quarter or half. */
static int dup_at_end(int fd, uint64_t end)
{
	int high = -EMFILE;

	for (uint64_t part = 8; part >= 2 && high == -EMFILE; part /= 2)
		high = dup_from(fd, end - end / part);
	return high;
}

/* Under limit_lock: two threads that raise and restore must not mistake a raised limit for the
 * program's. */
static int dup_past_limit(int fd)
{
	struct rlimit64 lim, raised;
	int high;

	if (sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim) < 0)
		return -EINVAL;
	sl_store(&generous, lim.rlim_cur >= GENEROUS);
	if (lim.rlim_cur >= GENEROUS)
		return dup_from(fd, SELECT_END);
	raised.rlim_cur = lim.rlim_cur + ROOM;
	raised.rlim_max = lim.rlim_max;
	if (lim.rlim_max <= lim.rlim_cur)
		raised.rlim_max = raised.rlim_cur;
	else
		raised.rlim_cur = sl_min(lim.rlim_max, raised.rlim_cur);
	if (sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &raised, NULL) < 0)
		return dup_at_end(fd, lim.rlim_cur);
	high = dup_from(fd, lim.rlim_cur);
	sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &lim, NULL);
	return high == -EMFILE ? dup_at_end(fd, lim.rlim_cur) : high;
}

static void mark(int fd)
{
	uint32_t end = sl_load(&kept_end);

	if ((uint32_t)fd >= SL_FD_MAX)
		return;
	while (end <= (uint32_t)fd &&
	       !__atomic_compare_exchange_n(&kept_end, &end, (uint32_t)fd + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_fetch_or(&sl_fd_bits[fd / 64], 1ull << (fd % 64), __ATOMIC_RELEASE);
}

void sl_fd_protect(int fd)
{
	mark(fd);
}

/* The limit is not looked at each time: where it has become narrow the kernel refuses the number.
 */
static int dup_as_before(int fd)
{
	int high = sl_load(&generous) ? dup_from(fd, SELECT_END) : -EDEADLK;

	return high == -EINVAL || high == -EMFILE ? -EDEADLK : high;
}

int sl_fd_keep(int fd)
{
	int high;

	if (fd < 0)
		return fd;
	high = dup_as_before(fd);
	if (high == -EDEADLK && sl_lock(&limit_lock)) {
		high = dup_past_limit(fd);
		sl_unlock(&limit_lock);
	}
	if (high >= 0) {
		sl_sys_close(fd);
		fd = high;
	} else if (high == -EBADF) {
		return -EBADF; /* the program has closed all it does not know (closefrom) */
	}
	mark(fd);
	return fd;
}

int sl_fd_dup(int fd)
{
	int high = dup_as_before(fd);

	if (high < 0)
		return sl_fd_keep(dup_from(fd, 3)); /* (no standard stream) */
	mark(high);
	return high;
}

int sl_fd_guard(int fd)
{
	if (fd < 0)
		return -1;
	if ((uint32_t)fd < SL_FD_MAX)
		__atomic_fetch_or(&guards[fd / 64], 1ull << (fd % 64), __ATOMIC_RELEASE);
	return fd;
}

void sl_fd_forget(int fd)
{
	const uint64_t bit = 1ull << (fd % 64);

	if (sl_load(&guards[fd / 64]) & bit)
		__atomic_fetch_and(&guards[fd / 64], ~bit, __ATOMIC_RELEASE);
	__atomic_fetch_and(&sl_fd_bits[fd / 64], ~bit, __ATOMIC_RELEASE);
}

uint32_t sl_fd_next_kept(uint32_t first)
{
	uint32_t end = sl_load(&kept_end);

	for (uint32_t fd = first; fd < end; fd++)
		if (sl_fd_is_kept((int)fd))
			return fd;
	return UINT32_MAX;
}

void sl_fd_child(void)
{
	limit_lock = (struct sl_lock){0};
	for (uint32_t fd = 0; (fd = sl_fd_next_kept(fd)) != UINT32_MAX; fd++) {
		if (sl_load(&guards[fd / 64]) >> (fd % 64) & 1)
			sl_sys_close((int)fd);
		else if (sl_sys_fcntl((int)fd, F_GETFD, 0) < 0)
			sl_fd_forget((int)fd);
	}
}

/* An entry of getdents64(2). */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* -1: no number, as "." and "..". */
static int number_of(const char *name)
{
	int n = 0;

	if (!*name)
		return -1;
	for (; *name; name++) {
		if (*name < '0' || *name > '9' || n > INT32_MAX / 10 - 1)
			return -1;
		n = n * 10 + (*name - '0');
	}
	return n;
}

int sl_fd_each(void (*fn)(int fd, void *arg), void *arg)
{
	_Alignas(8) char buf[1024];
	long dir = sl_sys(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			  0),
	     n;

	if (dir < 0)
		return (int)dir;
	while ((n = sl_sys(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(buf + at);
			int fd = number_of(e->name);

			if (fd >= 0 && fd != dir)
				fn(fd, arg);
			at += e->reclen;
		}
	}
	sl_sys_close((int)dir);
	return (int)n;
}

int sl_fd_once(struct sl_fd_once *o, int (*open)(const char *arg), const char *arg)
{
	uint64_t word = sl_load_acquire(&o->word), pid = (uint64_t)sl_sys(SYS_getpid), mine;
	int fd;

	if (word >> 32 == pid)
		return (int)(uint32_t)word;
	fd = sl_fd_guard(sl_fd_keep(open(arg)));
	if (fd < 0)
		return fd;
	mine = pid << 32 | (uint32_t)fd;
	if (__atomic_compare_exchange_n(&o->word, &word, mine, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return fd;
	sl_sys_close(fd); /* another thread was faster */
	return (int)(uint32_t)word;
}

void sl_fd_once_end(struct sl_fd_once *o)
{
	uint64_t word = __atomic_exchange_n(&o->word, 0, __ATOMIC_ACQ_REL);

	if (word >> 32 == (uint64_t)sl_sys(SYS_getpid))
		sl_sys_close((int)(uint32_t)word);
}

static int open_text(const char *path)
{
	return sl_sysi(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

long sl_fd_once_read(struct sl_fd_once *o, const char *path, char *text, size_t size)
{
	int fd = sl_fd_once(o, open_text, path);
	long n = fd < 0 ? fd : sl_sys(SYS_pread64, fd, text, size - 1, 0L);

	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = 0;
	return n;
}
