/* SPDX-License-Identifier: BSD-2-Clause */
/* The guard on the way out of a device (bpf/guard.bpf.c), by a link that the kernel ends with us.
 * Where there is no tcx (before 6.6) there is none: then connections whose peer is just sending are
 * reset when somebody takes the steering program off. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker_int.h"
#include "guard.skel.h"

#define TCX_EGRESS 47 /* BPF_TCX_EGRESS, which older headers do not have */

static int share_maps(struct guard *g, const struct sl_attach *a)
{
	int err = bpf_map__reuse_fd(g->maps.flows, a->map_fd[SL_MAP_FLOWS]);

	if (!err)
		err = bpf_map__reuse_fd(g->maps.endpoints, a->map_fd[SL_MAP_ENDPOINTS]);
	if (!err)
		err = bpf_map__reuse_fd(g->maps.ports, a->map_fd[SL_MAP_PORTS]);
	return err;
}

/* The program's descriptor, or -errno. */
static int load(const struct sl_attach *a)
{
	struct guard *g = guard__open();
	int err, fd = -1;

	if (!g)
		return -errno;
	err = share_maps(g, a);
	if (!err)
		err = guard__load(g);
	if (!err)
		fd = sl_sys_fcntl(bpf_program__fd(g->progs.guard), F_DUPFD_CLOEXEC, 0);
	guard__destroy(g);
	return err ? err : sl_fd_keep(fd);
}

/* The program stays loaded: the peers of a device that comes in the place of this one send at once,
 * and loading takes longer than giving it an address. */
static int attach(struct sl_attach *a, uint32_t ifindex)
{
	if (a->guard_prog < 0)
		a->guard_prog = load(a);
	if (a->guard_prog < 0)
		return a->guard_prog;
	return sl_fd_keep(bpf_link_create(a->guard_prog, (int)ifindex,
					  (enum bpf_attach_type)TCX_EGRESS, NULL));
}

static int attach_quietly(struct sl_attach *a, uint32_t ifindex)
{
	int fd;

	sl_libs_quiet();
	fd = attach(a, ifindex);
	sl_libs_restore();
	return fd;
}

void sl_guard_open(struct sl_attach *a, uint32_t ifindex)
{
	int fd;

	if (a->guard_tried)
		return;
	a->guard_tried = true;
	fd = attach_quietly(a, ifindex);
	a->guard_fd = fd < 0 ? -1 : fd;
	if (fd < 0)
		sl_debug("port", "device %u: no guard against the kernel's resets: %s", ifindex,
			 sl_strerror(fd));
}

bool sl_guard_follow(struct sl_attach *a, uint32_t ifindex)
{
	int fd;

	if (a->guard_fd < 0 || a->guard_on == ifindex)
		return false;
	fd = attach_quietly(a, ifindex);
	if (fd < 0)
		return false;
	sl_sys_close(a->guard_fd);
	a->guard_fd = fd;
	a->guard_on = ifindex;
	return true;
}

void sl_guard_close(struct sl_attach *a)
{
	if (a->guard_fd >= 0)
		sl_sys_close(a->guard_fd);
	if (a->guard_prog >= 0)
		sl_sys_close(a->guard_prog);
	a->guard_fd = a->guard_prog = -1;
}
