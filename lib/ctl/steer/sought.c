/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks for sockets among the files of all processes (bpf/sought.bpf.c), for the daemon: a dead
 * process's connection goes on if another process has its socket. */
#include "ctl/steer/sought.h"

#include <errno.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/libs.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "sought.skel.h"

static int link_fd = -1, wanted_fd = -1;
static int failed; /* -errno */
/* The look that is not done: whose it is, how many of the n sockets are found, and the iterator. */
static struct {
	struct sl_sought *s;
	unsigned n, found;
	int iter;
} now;

static int load(void)
{
	struct sought *s = sought__open();
	int err = s ? sought__load(s) : -errno, fd;

	if (!err) {
		fd = bpf_link_create(bpf_program__fd(s->progs.sought), 0, BPF_TRACE_ITER, NULL);
		err = sl_min(fd, 0);
		link_fd = fd < 0 ? -1 : sl_fd_keep(fd);
		wanted_fd = sl_fd_dup(bpf_map__fd(s->maps.wanted));
	}
	if (s)
		sought__destroy(s);
	return err ? err : sl_min(wanted_fd, 0);
}

static void load_once(void)
{
	if (link_fd >= 0 || failed)
		return;
	sl_libs_quiet();
	failed = load();
	sl_libs_restore();
	if (failed)
		sl_debug("broker", "nobody knows who has which sockets: %s", sl_strerror(failed));
}

static void forget(void)
{
	for (unsigned i = 0; i < now.n; i++)
		(void)bpf_map_delete_elem(wanted_fd, &now.s[i].inode);
	sl_sys_close(now.iter);
	now.s = NULL;
}

static int begin(struct sl_sought *s, unsigned n)
{
	const __u32 one = 1;
	int iter = bpf_iter_create(link_fd);

	if (iter < 0)
		return iter;
	now.s = s;
	now.n = n;
	now.found = 0;
	now.iter = iter;
	for (unsigned i = 0; i < n; i++) {
		s[i].family = 0;
		if (bpf_map_update_elem(wanted_fd, &s[i].inode, &one, BPF_ANY)) {
			forget();
			return -ENOMEM;
		}
	}
	return 0;
}

static void note(const struct sl_sought_seen *seen)
{
	for (unsigned i = 0; i < now.n; i++) {
		struct sl_sought *s = &now.s[i];

		if (s->inode != seen->inode)
			continue;
		now.found += !s->family;
		s->family = seen->family;
		s->closed = seen->closed;
		s->pid = seen->pid;
	}
}

/* Looks at one piece. 0: there are no more. */
static int look(void)
{
	struct sl_sought_seen seen[64];
	long got = sl_sys_read(now.iter, seen, sizeof(seen));

	for (unsigned i = 0; (long)((i + 1) * sizeof(seen[0])) <= got; i++)
		note(&seen[i]);
	if (got > 0)
		return now.found < now.n ? -EAGAIN : 0;
	return (int)got;
}

int sl_embedded_sought(struct sl_sought *s, unsigned n)
{
	int err;

	load_once();
	if (failed)
		return failed;
	if (now.s && now.s != s)
		return -EBUSY;
	err = now.s ? 0 : begin(s, n);
	if (err)
		return err;
	err = look();
	if (err != -EAGAIN)
		forget();
	return err;
}

void sl_embedded_sought_stop(const struct sl_sought *s)
{
	if (now.s && now.s == s)
		forget();
}
