/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's sockets of a program that does not list them: a child process without a lease says
 * only why all its sockets are the kernel's. The links in its /proc/PID/fd and sock_diag(7) in its
 * network namespace tell the rest. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ss.h"
#include "stat.h"

struct list {
	struct sl_stats *s;
	uint32_t first, n, max; /* the entries that are added: n of max, from `first` on */
	bool failed;
};

static size_t bytes_of(uint32_t n)
{
	size_t bytes = sizeof(struct sl_stats) + n * sizeof(struct sl_sock_stats);

	return (bytes + 63) / 64 * 64;
}

static void add(struct list *l, int fd, uint32_t inode)
{
	struct sl_sock_stats *k;

	if (l->n == l->max) {
		uint32_t max = l->max ? l->max * 2 : 64;
		struct sl_stats *more = aligned_alloc(64, bytes_of(l->first + max));

		if (!more) {
			l->failed = true;
			return;
		}
		memset(more, 0, bytes_of(l->first + max));
		memcpy(more, l->s, sizeof(*l->s) + (l->first + l->n) * sizeof(l->s->sock[0]));
		free(l->s);
		l->s = more;
		l->max = max;
	}
	k = &l->s->sock[l->first + l->n++];
	k->fd = fd;
	k->inode = inode;
}

static void find_sockets(struct list *l, int pid)
{
	char path[64], link[64];
	uint32_t inode;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && !l->failed && (e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = 0;
		if (n > 0 && sscanf(link, "socket:[%u]", &inode) == 1)
			add(l, atoi(e->d_name), inode);
	}
	if (d)
		closedir(d);
}

/* Fills in those of its numbers that the program has. */
static void fill(const struct sl_ss_sock *from, void *arg)
{
	struct list *l = arg;

	for (uint32_t i = l->first; from->inode && i < l->first + l->n; i++) {
		struct sl_sock_stats *k = &l->s->sock[i];

		if (k->inode != from->inode)
			continue;
		k->used = 1;
		k->proto = from->proto;
		k->family = from->family;
		k->state = SL_STATE_KERNEL;
		k->reason = l->s->kernels;
		k->local = from->local;
		k->local_port = from->local_port;
		k->remote = from->remote;
		k->remote_port = from->remote_port;
		k->rx_queue_bytes = from->rq;
		k->blocking = 1;
	}
}

/* Asks in the program's network namespace, if it is another one and the caller may enter it. */
static void ask_kernel(struct list *l, int pid)
{
	char path[64];
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), its;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	its = open(path, O_RDONLY | O_CLOEXEC);
	if (own >= 0 && its >= 0)
		(void)setns(its, CLONE_NEWNET);
	sl_ss_kernel(IPPROTO_TCP, fill, l);
	sl_ss_kernel(IPPROTO_UDP, fill, l);
	if (own >= 0 && its >= 0)
		(void)setns(own, CLONE_NEWNET);
	if (own >= 0)
		close(own);
	if (its >= 0)
		close(its);
}

struct sl_stats *sl_stat_add_kernels(struct sl_stats *s, int pid)
{
	struct list l = {.s = s, .first = s->max_socks};

	if (!s->kernels)
		return s;
	find_sockets(&l, pid);
	if (l.n)
		ask_kernel(&l, pid);
	l.s->max_socks += l.n;
	return l.s;
}
