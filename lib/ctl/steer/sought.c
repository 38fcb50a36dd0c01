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

#define READ_MOST 4096u /* descriptors; a hostile program may have any number of each socket */

static int link_fd = -1, wanted_fd = -1;
static int failed; /* -errno */

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

static void note(struct sl_sought *s, unsigned n, const struct sl_sought_seen *seen)
{
	for (unsigned i = 0; i < n; i++) {
		if (s[i].inode != seen->inode)
			continue;
		s[i].family = seen->family;
		s[i].closed = seen->closed;
	}
}

static int look(struct sl_sought *s, unsigned n)
{
	struct sl_sought_seen seen[64];
	int iter = bpf_iter_create(link_fd);
	long got = iter;

	for (unsigned all = 0; got >= 0 && all < READ_MOST; all += sl_array_len(seen)) {
		got = sl_sys_read(iter, seen, sizeof(seen));
		for (unsigned i = 0; (long)((i + 1) * sizeof(seen[0])) <= got; i++)
			note(s, n, &seen[i]);
		if (!got)
			break;
	}
	if (iter >= 0)
		sl_sys_close(iter);
	return (int)sl_min(got, 0l);
}

int sl_embedded_sought(struct sl_sought *s, unsigned n)
{
	const __u32 one = 1;
	int err;

	load_once();
	if (failed)
		return failed;
	for (unsigned i = 0; i < n; i++) {
		s[i].family = 0;
		(void)bpf_map_update_elem(wanted_fd, &s[i].inode, &one, BPF_ANY);
	}
	err = look(s, n);
	for (unsigned i = 0; i < n; i++)
		(void)bpf_map_delete_elem(wanted_fd, &s[i].inode);
	return err;
}
