/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket of another process's comes here by pidfd_getfd(2), without that process doing anything.
 *
 * Theory of operation: what comes is the kernel's socket, which is closed while its process has the
 * connection. So that process is asked first to hand it back, in the way of `sluice flow`: by a
 * mark in its file of counters, which this process may write if it is the same user's, or root. Its
 * keeper does it within a moment. A process that has no such file (or whose file has no room for
 * that socket) keeps the connection. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/settings.h"
#include "base/stats.h"
#include "base/stats_dir.h"
#include "base/stats_read.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/proc/up.h"

#define LOOK_NS 1000000
#define LOOKS   1000

struct steal {
	int pid;
	uint32_t inode;
	int fd; /* of the file of counters; -1: none was found */
};

static int pid_of(int pidfd)
{
	char path[48], text[1024];
	const char *at;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (sl_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nPid:");
	return at && sscanf(at, "\nPid: %d", &pid) == 1 ? pid : 0;
}

/* 0: it is no socket, or this process may not know. */
static uint32_t inode_of(int pid, int number)
{
	char path[48], link[64];
	uint32_t inode = 0;
	long n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
	n = sl_sys(SYS_readlinkat, AT_FDCWD, path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = 0;
	return sscanf(link, "socket:[%u]", &inode) == 1 ? inode : 0;
}

static bool find_file(const char *dir, void *arg)
{
	struct steal *s = arg;
	char path[700];
	struct stat st;

	snprintf(path, sizeof(path), "%s/sluice.%d.stats", dir, s->pid);
	s->fd = (int)sl_sys(SYS_openat, AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (s->fd < 0)
		return true;
	/* Where others can write to the directory it may be any file. */
	if (!sl_sys(SYS_fstat, s->fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return false;
	sl_sys_close(s->fd);
	s->fd = -1;
	return true;
}

static bool get(int fd, uint64_t at, void *to, size_t n)
{
	return sl_sys(SYS_pread64, fd, to, n, at) == (long)n;
}

static bool put(int fd, uint64_t at, const void *from, size_t n)
{
	return sl_sys(SYS_pwrite64, fd, from, n, at) == (long)n;
}

/* Marks the entry of the socket; false: there is none that is offloaded. */
static bool mark(const struct steal *s, const struct sl_stats *head)
{
	const uint32_t both[2] = {SL_MOVE_HAND_BACK, s->inode};
	const uint64_t end = SL_STATS_MAX_BYTES; /* (the file may be another user's) */
	uint64_t at = offsetof(struct sl_stats, sock);
	struct sl_sock_stats k;

	for (uint32_t i = 0; i < head->max_socks && at < end; i++, at += sizeof(k)) {
		if (!get(s->fd, at, &k, offsetof(struct sl_sock_stats, reason)))
			return false;
		if (k.used == 1 && k.inode == s->inode && k.state == SL_STATE_OFFLOADED)
			return put(s->fd, at + offsetof(struct sl_sock_stats, move_want), both,
				   sizeof(both));
	}
	return false;
}

static void ask(const struct steal *s)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const uint64_t done_at = offsetof(struct sl_stats, move_done);
	struct sl_stats head;
	uint32_t want, done = 0;

	if (!get(s->fd, 0, &head, offsetof(struct sl_stats, tap_want)) ||
	    head.magic != SL_STATS_MAGIC || head.version != SL_STATS_VERSION ||
	    head.pid != (uint32_t)s->pid || !mark(s, &head))
		return;
	want = head.move_want + 1;
	if (!put(s->fd, offsetof(struct sl_stats, move_want), &want, sizeof(want)))
		return;
	for (unsigned i = 0; i < LOOKS && get(s->fd, done_at, &done, sizeof(done)); i++) {
		if (done == want)
			return;
		(void)sl_sys(SYS_nanosleep, &pause, NULL);
	}
}

SL_API
void sl_steal(int pidfd, int number)
{
	struct steal s = {.pid = pid_of(pidfd), .fd = -1};

	if (s.pid <= 0 || s.pid == (int)sl_sys(SYS_getpid))
		return;
	s.inode = inode_of(s.pid, number);
	/* (The settings are read when the library comes up.) */
	if (s.inode) {
		(void)sl_up_again();
		sl_stats_dirs(sl_settings.stats_shmem_dir, find_file, &s);
	}
	if (s.fd < 0)
		return;
	ask(&s);
	sl_sys_close(s.fd);
}
