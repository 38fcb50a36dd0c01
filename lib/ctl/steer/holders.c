/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the references to an open file (bpf/holders.bpf.c). The program is loaded once for a
 * process, at the first question; where the kernel has no such iterator (before 6.1, or without
 * BTF) the count is unknown. */
#include "ctl/steer/holders.h"

#include <errno.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/libs.h"
#include "ctl/device/lock.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "holders.skel.h"

static int link_fd = -1, wanted_fd = -1;
static int failed; /* -errno */

static int attach(struct holders *h)
{
	union bpf_iter_link_info info = {.task = {.pid = (__u32)getpid()}};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));
	int fd = bpf_link_create(bpf_program__fd(h->progs.holders), 0, BPF_TRACE_ITER, &opts);

	if (fd < 0)
		return fd;
	link_fd = sl_fd_keep(fd);
	wanted_fd = sl_fd_dup(bpf_map__fd(h->maps.wanted));
	return wanted_fd < 0 ? wanted_fd : 0;
}

static int load(void)
{
	struct holders *h = holders__open();
	int err = h ? holders__load(h) : -errno;

	if (!err)
		err = attach(h);
	if (h)
		holders__destroy(h);
	return err;
}

/* Reads the iterator, which goes through all files and writes about one. */
static int ask(int fd)
{
	__u32 zero = 0, wanted = (__u32)fd;
	int64_t count = 0;
	int iter, n;

	if (bpf_map_update_elem(wanted_fd, &zero, &wanted, BPF_ANY))
		return -errno;
	iter = bpf_iter_create(link_fd);
	if (iter < 0)
		return iter;
	n = (int)sl_sys_read(iter, &count, sizeof(count));
	sl_sys_close(iter);
	if (n < 0)
		return n;
	return n == sizeof(count) && count > 0 ? (int)sl_min(count, (int64_t)INT32_MAX) : -EBADF;
}

static int load_quietly(void)
{
	int err;

	sl_libs_quiet();
	err = load();
	sl_libs_restore();
	return err;
}

/* (A process in another root directory may find no libbpf.) */
int sl_embedded_holders(int fd)
{
	struct sl_broker_guard g;
	int lacks = 0, ret;

	if (sl_load(&link_fd) < 0 && !sl_load(&failed))
		lacks = sl_libbpf_load(NULL);
	sl_broker_enter(&g);
	if (link_fd < 0 && !failed) {
		failed = lacks ? lacks : load_quietly();
		if (failed)
			sl_debug("broker", "nobody knows who has which files: %s",
				 sl_strerror(failed));
	}
	ret = failed ? failed : ask(fd);
	sl_broker_leave(&g);
	return ret;
}

/* The parent's link shows the parent's files. */
void sl_holders_child(void)
{
	if (link_fd >= 0)
		sl_sys_close(link_fd);
	if (wanted_fd >= 0)
		sl_sys_close(wanted_fd);
	link_fd = wanted_fd = -1;
}
