/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a socket's names without its lock (bpf/names.bpf.c), on a kernel with BTF and Linux 5.14.
 */
#include "ctl/steer/names.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/libs.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "names.skel.h"

static int prog_fd = -1;

void sl_names_open(void)
{
	struct names *n;
	int err;

	if (prog_fd >= 0)
		return;
	sl_libs_quiet();
	n = names__open();
	err = n ? names__load(n) : -errno;
	if (!err)
		prog_fd = sl_fd_dup(bpf_program__fd(n->progs.names));
	if (n)
		names__destroy(n);
	sl_libs_restore();
	if (prog_fd < 0)
		sl_debug("broker", "another thread asks for the names of sockets: %s",
			 sl_strerror(err ? err : prog_fd));
}

int sl_names_of(int fd, struct sl_names *out)
{
	union bpf_attr attr;

	*out = (struct sl_names){.fd = (__u32)fd};
	if (prog_fd < 0)
		return -ENOSYS;
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (__u32)prog_fd;
	attr.test.ctx_in = (uintptr_t)out;
	attr.test.ctx_size_in = sizeof(*out);
	return sl_sys(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) || !out->read ? -ENOSYS : 0;
}
