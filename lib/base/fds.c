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

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

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

/* Files that are closed last.
 *
 * Theory of operation: a process that dies queues the closing of its files by their numbers, lowest
 * first, runs the queue from its end, and then what was queued meanwhile, again from the end. So a
 * copy of each file waits in the queue of a socket: it has no number, and the kernel closes it when
 * it has closed the socket, after all numbers. The socket for the files that steer has the lower
 * number of a pair, so they are queued behind the others, and closed before them. When one of the
 * files is closed by a call, both sockets go; the next file that comes makes them anew. */
#define LAST_MOST 32

static struct sl_lock last_lock;
static struct {
	int fd; /* closed last; 0: free place */
	bool steers;
} last[LAST_MOST];
static int last_sock[2] = {-1, -1}; /* with those that steer in its queue, with the others */
static uint64_t has_last[SL_FD_MAX / 64];

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

/* Duplicates n descriptors. Under limit_lock: two threads that raise and restore must not mistake a
 * raised limit for the program's. */
static void dup_past_limit(const int *fd, int *high, unsigned n)
{
	struct rlimit64 lim = {0}, raised;
	bool looked = !sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim), may_raise = false;

	sl_store(&generous, lim.rlim_cur >= GENEROUS);
	raised.rlim_cur = lim.rlim_cur + ROOM;
	raised.rlim_max = lim.rlim_max;
	if (lim.rlim_max <= lim.rlim_cur)
		raised.rlim_max = raised.rlim_cur;
	else
		raised.rlim_cur = sl_min(lim.rlim_max, raised.rlim_cur);
	if (looked && !generous)
		may_raise = !sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &raised, NULL);
	for (unsigned i = 0; i < n; i++) {
		high[i] = looked ? -EMFILE : -EINVAL;
		if (generous || may_raise)
			high[i] = dup_from(fd[i], generous ? SELECT_END : lim.rlim_cur);
	}
	if (may_raise)
		sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &lim, NULL);
	for (unsigned i = 0; i < n && !generous; i++)
		if (high[i] == -EMFILE)
			high[i] = dup_at_end(fd[i], lim.rlim_cur);
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

/* The descriptor was duplicated, as high or -errno: its number from now on. */
static int moved(int fd, int high)
{
	if (high >= 0) {
		sl_sys_close(fd);
		fd = high;
	} else if (high == -EBADF) {
		return -EBADF; /* the program has closed all it does not know (closefrom) */
	}
	mark(fd);
	return fd;
}

int sl_fd_keep(int fd)
{
	int high;

	if (fd < 0)
		return fd;
	high = dup_as_before(fd);
	if (high == -EDEADLK && sl_lock(&limit_lock)) {
		dup_past_limit(&fd, &high, 1);
		sl_unlock(&limit_lock);
	}
	return moved(fd, high);
}

/* sl_fd_keep() of two. As a rule the second gets the higher number. */
static void keep_pair(int fd[2])
{
	int high[2] = {-EDEADLK, -EDEADLK};

	if (sl_lock(&limit_lock)) {
		dup_past_limit(fd, high, 2);
		sl_unlock(&limit_lock);
	}
	for (int i = 0; i < 2; i++)
		fd[i] = moved(fd[i], high[i]);
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

/* Puts a copy of the file into the queue of one of the sockets, through the other. */
static void last_copy(int fd, bool steers)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec byte = {"", 1};
	struct msghdr msg = {.msg_iov = &byte,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sl_sys(SYS_sendmsg, last_sock[steers], &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void last_close(void)
{
	for (int i = 0; i < 2; i++) {
		int sock = last_sock[i];

		last_sock[i] = -1;
		if (sock >= 0)
			sl_sys_close(sock);
	}
}

static void last_open(void)
{
	int pair[2];

	if (sl_sys(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	keep_pair(pair);
	for (int i = 0; i < 2; i++)
		last_sock[i] = sl_fd_guard(pair[i]);
	for (unsigned i = 0; i < LAST_MOST; i++)
		if (last[i].fd)
			last_copy(last[i].fd, last[i].steers);
}

void sl_fd_last(int fd, bool steers)
{
	unsigned i = 0;

	if ((uint32_t)fd >= SL_FD_MAX || !sl_lock(&last_lock))
		return;
	while (i < LAST_MOST && last[i].fd)
		i++;
	if (last_sock[0] < 0)
		last_open();
	if (i < LAST_MOST) {
		last[i].fd = fd;
		last[i].steers = steers;
		__atomic_fetch_or(&has_last[fd / 64], 1ull << (fd % 64), __ATOMIC_RELEASE);
		last_copy(fd, steers);
	}
	sl_unlock(&last_lock);
}

static void last_end(int fd)
{
	__atomic_fetch_and(&has_last[fd / 64], ~(1ull << (fd % 64)), __ATOMIC_RELEASE);
	if (!sl_lock(&last_lock))
		return;
	for (unsigned i = 0; i < LAST_MOST; i++)
		if (last[i].fd == fd)
			last[i].fd = 0;
	last_close();
	sl_unlock(&last_lock);
}

void sl_fd_forget(int fd)
{
	const uint64_t bit = 1ull << (fd % 64);

	if (sl_load(&guards[fd / 64]) & bit)
		__atomic_fetch_and(&guards[fd / 64], ~bit, __ATOMIC_RELEASE);
	__atomic_fetch_and(&sl_fd_bits[fd / 64], ~bit, __ATOMIC_RELEASE);
	if (sl_unlikely(sl_load(&has_last[fd / 64]) & bit))
		last_end(fd);
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
	last_lock = (struct sl_lock){0};
	memset(last, 0, sizeof(last)); /* (their sockets are guarded) */
	last_sock[0] = last_sock[1] = -1;
	memset(has_last, 0, sizeof(has_last));
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
