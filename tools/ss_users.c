/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have a socket, for `sluice ss -p`: the links in /proc/PID/fd. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ss.h"

struct user {
	uint32_t inode;
	int pid, fd;
	char name[16]; /* as in /proc/PID/comm */
};

static struct user *users;
static size_t n_users, max_users;

void sl_ss_name(char *to, size_t len, const char *name)
{
	size_t i = 0;

	for (; name[i] && i < len - 1; i++)
		to[i] = isprint((unsigned char)name[i]) && name[i] != '"' ? name[i] : '?';
	to[i] = 0;
}

static void read_comm(const char *pid, char name[16])
{
	char path[64], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = 0;
	if (f)
		fclose(f);
	sl_ss_name(name, 16, line);
}

static void add_user(const struct user *u)
{
	if (n_users == max_users) {
		size_t max = max_users ? max_users * 2 : 256;
		struct user *more = realloc(users, max * sizeof(*users));

		if (!more)
			return;
		users = more;
		max_users = max;
	}
	users[n_users++] = *u;
}

static void read_process(const char *pid)
{
	struct user u = {.pid = atoi(pid)};
	char path[64], link[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = 0;
		if (sscanf(link, "socket:[%u]", &u.inode) != 1)
			continue;
		u.fd = atoi(e->d_name);
		if (!u.name[0])
			read_comm(pid, u.name);
		add_user(&u);
	}
	if (d)
		closedir(d);
}

static int by_inode(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->fd - y->fd;
}

void sl_ss_users_read(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			read_process(e->d_name);
	if (d)
		closedir(d);
	if (n_users)
		qsort(users, n_users, sizeof(*users), by_inode);
}

bool sl_ss_users(uint32_t inode, char *buf, size_t len)
{
	size_t lo = 0, hi = n_users, at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (users[mid].inode < inode)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!inode || lo == n_users || users[lo].inode != inode)
		return false;
	at = (size_t)snprintf(buf, len, "users:(");
	for (size_t i = lo; i < n_users && users[i].inode == inode && at + 64 < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s(\"%s\",pid=%d,fd=%d)",
				       i > lo ? "," : "", users[i].name, users[i].pid, users[i].fd);
	if (at + 1 < len)
		strcpy(buf + at, ")");
	return true;
}
