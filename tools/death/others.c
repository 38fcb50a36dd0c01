/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of a killed process that another process has, too.
 *
 * By the kernel a connection goes on as long as any process has its socket. A process that ends in
 * order hands such connections to the kernel (exit.c); a killed one cannot. A forked child, or a
 * process that was passed a descriptor, then has a closed socket, the shadow. It is found by its
 * inode among the files that /proc shows, and a copy of it (pidfd_getfd(2)) is made the connection
 * by TCP_REPAIR: all processes that have the socket have the connection.
 *
 * The other process is not trusted. It can have its own shadow only, since the inode is from the
 * record of the dead process, and is compared with that of the copy. The socket must be closed and
 * bound to the connection's end, or not bound: a child that has made something else of it keeps
 * that. Without the right to trace the other process (ptrace(2)) there is no copy, and the
 * connection ends with the dead process, as does one whose bytes are not all found (queues.c). */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "death.h"
#include "sock/repair/repair.h"

/* A connection that is looked for. */
struct wanted {
	uint32_t inode;
	uint32_t at; /* in the list of connections */
};
struct search {
	struct sl_gone_conns *c;
	struct sl_gone_queues *q;
	struct wanted *wanted;
	uint32_t n, left;
};

static int by_inode(const void *a, const void *b)
{
	uint32_t x = ((const struct wanted *)a)->inode, y = ((const struct wanted *)b)->inode;

	return (x > y) - (x < y);
}

static bool is_closed_tcp(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return !sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state == TCP_CLOSE;
}

/* A process that waits for a connection that cannot go on sees a reset. */
static void restore(struct search *s, struct sl_gone *g, int fd)
{
	struct sl_gone_source from = {.q = s->q};
	const struct sl_repair_source src = sl_gone_source(&from);
	struct sl_tcp_dead d;

	if (!is_closed_tcp(fd))
		return;
	sl_time_wait_forget(&g->key);
	if (sl_gone_state(s->c, g, &d, &from.from) && sl_gone_source_is_whole(&from, &d.r))
		g->kept = !sl_repair_kernel(fd, &d.r, &src);
	if (!g->kept && is_closed_tcp(fd))
		(void)sl_repair_error(fd);
}

/* Copies the other process's descriptor; it may have become another file meanwhile. */
static int copy_of(int pid, int number, uint32_t inode)
{
	int pidfd = sl_sysi(SYS_pidfd_open, pid, 0), fd;
	struct stat st;

	if (pidfd < 0)
		return pidfd;
	fd = sl_sysi(SYS_pidfd_getfd, pidfd, number, 0);
	sl_sys_close(pidfd);
	if (fd >= 0 &&
	    (fstat(fd, &st) || !S_ISSOCK(st.st_mode) || (st.st_ino & INT32_MAX) != inode)) {
		sl_sys_close(fd);
		return -EBADF;
	}
	return fd;
}

static void look_at_file(struct search *s, int dir, int pid, const char *name)
{
	struct wanted *w, key;
	char link[64];
	int fd;
	long n = sl_sys(SYS_readlinkat, dir, name, link, sizeof(link) - 1);

	if (n <= 0)
		return;
	link[n] = 0;
	if (sscanf(link, "socket:[%u]", &key.inode) != 1)
		return;
	key.inode &= INT32_MAX;
	w = bsearch(&key, s->wanted, s->n, sizeof(key), by_inode);
	if (!w || w->at == UINT32_MAX)
		return;
	fd = copy_of(pid, atoi(name), key.inode);
	if (fd < 0)
		return;
	restore(s, &s->c->gone[w->at], fd);
	sl_sys_close(fd);
	w->at = UINT32_MAX;
	s->left--;
}

static void look_at_process(struct search *s, int proc, int pid)
{
	struct dirent *e;
	char path[24];
	DIR *d;
	int dir;

	snprintf(path, sizeof(path), "%d/fd", pid);
	dir = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = dir < 0 ? NULL : fdopendir(dir);
	if (!d) {
		if (dir >= 0)
			sl_sys_close(dir);
		return;
	}
	while (s->left && (e = readdir(d)))
		if (e->d_name[0] != '.')
			look_at_file(s, dir, pid, e->d_name);
	closedir(d);
}

static void look_at_all(struct search *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int pid;

	while (proc && s->left && (e = readdir(proc))) {
		pid = atoi(e->d_name);
		if (pid > 0 && pid != getpid())
			look_at_process(s, dirfd(proc), pid);
	}
	if (proc)
		closedir(proc);
}

void sl_gone_keep(struct sl_gone_conns *c, struct sl_gone_queues *q)
{
	struct search s = {.c = c, .q = q};

	if (c->fd < 0 || !c->n)
		return;
	s.wanted = malloc(c->n * sizeof(*s.wanted));
	for (uint32_t i = 0; s.wanted && i < c->n; i++) {
		uint32_t inode = sl_gone_inode(c, &c->gone[i]);

		if (inode)
			s.wanted[s.n++] = (struct wanted){inode, i};
	}
	s.left = s.n;
	if (s.n) {
		qsort(s.wanted, s.n, sizeof(*s.wanted), by_inode);
		look_at_all(&s);
	}
	free(s.wanted);
	sl_gone_queues_free(q);
}
