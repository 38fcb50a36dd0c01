/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds, reads and writes statistics files. Reads by pread(2) into its own memory: access to a
 * mapped file that is truncated would kill this program. */
#include "stat_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/stats_dir.h"

/* True: the process has the file of that inode in its memory, or we may not look. */
static bool is_mapped(int pid, ino_t ino)
{
	char path[64], line[1024];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == EACCES || errno == EPERM;
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned long inode;

		if (sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1)
			found = inode == ino;
	}
	fclose(f);
	return found;
}

/* True: the user is one of the process's. */
static bool is_user_of(int pid, uid_t uid)
{
	unsigned real, effective, saved;
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Uid: %u %u %u", &real, &effective, &saved) == 3;
	if (f)
		fclose(f);
	return found && (uid == real || uid == effective || uid == saved);
}

/* Only the process's own user, or root, may speak for it: else any user could show root false
 * sockets of any process (an inode's number is another file's in another file system), and by a
 * second name have root's tools write into others' files. */
static bool is_own(const struct sl_stat_file *f, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	       (!st->st_uid || is_user_of(f->pid, st->st_uid));
}

bool sl_stat_alive(const struct sl_stat_file *f)
{
	struct stat st;

	if (kill(f->pid, 0) && errno == ESRCH)
		return false;
	return !lstat(f->path, &st) && is_own(f, &st) && is_mapped(f->pid, st.st_ino);
}

int sl_stat_open(const struct sl_stat_file *f, int flags)
{
	struct stat st;
	int fd = open(f->path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, &st) || !is_own(f, &st))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct sl_stat_file *)a)->pid - ((const struct sl_stat_file *)b)->pid;
}

struct files {
	struct sl_stat_file *out;
	unsigned n, max, dead;
	int err; /* why a directory could not be read */
};

static bool files_of(const char *dir, void *arg)
{
	struct files *all = arg;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		all->err = -errno;
	while (d && all->n < all->max && (e = readdir(d))) {
		struct sl_stat_file *f = &all->out[all->n];

		f->pid = (int)sl_stats_pid_of(e->d_name);
		if (!f->pid)
			continue;
		snprintf(f->path, sizeof(f->path), "%.300s/%.200s", dir, e->d_name);
		f->alive = sl_stat_alive(f);
		/* Files of many killed programs must not crowd out those of running ones. */
		all->dead += !f->alive;
		if (f->alive || all->dead <= all->max / 2)
			all->n++;
	}
	if (d)
		closedir(d);
	return all->n < all->max;
}

int sl_stat_files(const char *dir, struct sl_stat_file *out, unsigned max)
{
	struct files all = {.out = out, .max = max};

	sl_stats_dirs(dir, files_of, &all);
	qsort(out, all.n, sizeof(*out), by_pid);
	return all.n ? (int)all.n : all.err;
}

struct sl_stats *sl_stat_snapshot(const struct sl_stat_file *f, const char **why)
{
	struct sl_stats *s = NULL;
	struct stat st;
	size_t size;
	ssize_t n;
	int fd = sl_stat_open(f, O_RDONLY);

	if (fd < 0 || fstat(fd, &st)) {
		*why = strerror(errno);
		goto close_file;
	}
	size = sl_min((size_t)st.st_size, (size_t)SL_STATS_MAX_BYTES);
	/* At least the header's size: the header is checked after the length is. */
	size = sl_max(size, sizeof(*s));
	s = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!s) {
		*why = "out of memory";
		goto close_file;
	}
	n = pread(fd, s, size, 0);
	if (n < 0 || sl_stats_check(s, (size_t)n, why)) {
		if (n < 0)
			*why = strerror(errno);
		free(s);
		s = NULL;
	}
	if (s) /* (a hostile program could have the tools do things to another) */
		s->pid = (uint32_t)f->pid;
close_file:
	if (fd >= 0)
		close(fd);
	return s;
}

struct sl_stats *sl_stat_next(const struct sl_stat_file *files, int n, int pid, int *i,
			      unsigned *hidden)
{
	const char *why;

	for (; *i < n; ++*i) {
		const struct sl_stat_file *f = &files[*i];
		bool wanted = f->alive && (!pid || pid == f->pid);
		struct sl_stats *s = wanted ? sl_stat_snapshot(f, &why) : NULL;

		if (s)
			return s;
		*hidden += wanted;
	}
	return NULL;
}

/* Writes one field of the header. */
static int put_field(const struct sl_stat_file *f, size_t offset, const void *value)
{
	int fd = sl_stat_open(f, O_RDWR), err = 0;

	if (fd < 0)
		return -errno;
	if (pwrite(fd, value, 4, (off_t)offset) != 4)
		err = -errno;
	close(fd);
	return err;
}

int sl_stat_ask_log(const struct sl_stat_file *f, int level, int details)
{
	int err = 0;

	if (level != -1)
		err = put_field(f, offsetof(struct sl_stats, log_level_want), &level);
	if (!err && details >= 0)
		err = put_field(f, offsetof(struct sl_stats, log_details_want), &details);
	return err;
}

/* Raises the number at want and waits until the one at done is the same. */
static int ask(const struct sl_stat_file *f, size_t want_at, size_t done_at)
{
	const char *why;
	struct sl_stats *s = sl_stat_snapshot(f, &why);
	uint32_t want;
	int err;

	if (!s)
		return -EIO;
	want = *(const uint32_t *)((const char *)s + want_at) + 1;
	free(s);
	err = put_field(f, want_at, &want);
	for (int i = 0; !err && i < 15; i++) {
		struct timespec tenth = {0, 100000000};
		bool done;

		nanosleep(&tenth, NULL);
		s = sl_stat_snapshot(f, &why);
		if (!s)
			return -EIO;
		done = *(const uint32_t *)((const char *)s + done_at) == want;
		free(s);
		if (done)
			return 0;
	}
	return err ? err : -ETIMEDOUT;
}

int sl_stat_ask_zero(const struct sl_stat_file *f)
{
	return ask(f, offsetof(struct sl_stats, zero_want), offsetof(struct sl_stats, zero_done));
}

int sl_stat_ask_dump(const struct sl_stat_file *f, int fd, int level)
{
	int err = put_field(f, offsetof(struct sl_stats, dump_fd), &fd);

	if (!err)
		err = put_field(f, offsetof(struct sl_stats, dump_level), &level);
	return err ? err
		   : ask(f, offsetof(struct sl_stats, dump_want),
			 offsetof(struct sl_stats, dump_done));
}

/* Waits until the process has answered. */
static int wait_moved(const struct sl_stat_file *f, uint32_t want)
{
	for (int i = 0; i < 150; i++) {
		struct timespec hundredth = {0, 10000000};
		const char *why;
		struct sl_stats *s = sl_stat_snapshot(f, &why);
		bool done = s && s->move_done == want;

		free(s);
		if (!s)
			return -EIO;
		if (done)
			return 0;
		nanosleep(&hundredth, NULL);
	}
	return -ETIMEDOUT;
}

int sl_stat_ask_move(const struct sl_stat_file *f, const struct sl_stats *s, const uint8_t *move,
		     uint32_t n)
{
	uint32_t want = s->move_want + 1;
	int fd = sl_stat_open(f, O_RDWR), err = fd < 0 ? -errno : 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t both[2] = {move[i], s->sock[i].inode};
		off_t at = (off_t)(offsetof(struct sl_stats, sock) + i * sizeof(s->sock[0]) +
				   offsetof(struct sl_sock_stats, move_want));

		if (move[i] && pwrite(fd, both, sizeof(both), at) != sizeof(both))
			err = -EIO;
	}
	if (fd >= 0)
		close(fd);
	if (!err)
		err = put_field(f, offsetof(struct sl_stats, move_want), &want);
	return err ? err : wait_moved(f, want);
}
