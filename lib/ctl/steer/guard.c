/* SPDX-License-Identifier: BSD-2-Clause */
/* The guards: on the way out of a device (bpf/guard.bpf.c), and of the network namespace
 * (guard_nf.bpf.c), by links that the kernel ends with us. Where there is no tcx (before 6.6) the
 * second does what it can. Before 6.4 there are no such links, and nf_tables calls a program
 * (guard_nft.bpf.c, steer/nft.c). Before 5.12 there is no guard: connections whose peer is just
 * sending are reset when somebody takes the steering program off. */
#include "ctl/steer/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/device/libs.h"
#include "ctl/device/opts.h"
#include "ctl/kern/ktypes.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "ctl/steer/maps.h"
#include "guard.skel.h"
#include "guard_nf.skel.h"
#include "guard_nft.skel.h"

/* Missing in older headers: BPF_PROG_TYPE_NETFILTER, BPF_NETFILTER, BPF_TCX_EGRESS. */
#define TYPE_NETFILTER 32
#define NETFILTER      45
#define TCX_EGRESS     47

#define NF_LOCAL_OUT 3 /* NF_INET_LOCAL_OUT */
/* A priority has room for one BPF program; our guards of other devices have other priorities. */
#define NF_TRIES 256

/* True: use nf_tables, the only way before Linux 6.4. */
static bool by_tables(void)
{
	return sl_broker_opts()->guard_nft;
}

/* A guard's maps are those of the attachment. */
static int share_maps(struct bpf_object *guard, const struct sl_attach *a)
{
	static const enum sl_map read[] = {SL_MAP_FLOWS, SL_MAP_ENDPOINTS, SL_MAP_PORTS,
					   SL_MAP_STRAYS};
	int err = 0;

	for (size_t i = 0; i < sl_array_len(read) && !err; i++)
		err = bpf_map__reuse_fd(bpf_object__find_map_by_name(guard, sl_map_names[read[i]]),
					a->map_fd[read[i]]);
	return err;
}

/* The program's descriptor, or -errno. */
static int load(const struct sl_attach *a)
{
	struct guard *g = guard__open();
	int err, fd = -1;

	if (!g)
		return -errno;
	err = share_maps(g->obj, a);
	if (!err)
		err = guard__load(g);
	if (!err)
		fd = sl_sys_fcntl(bpf_program__fd(g->progs.guard), F_DUPFD_CLOEXEC, 0);
	guard__destroy(g);
	return err ? err : sl_fd_keep(fd);
}

/* The links of netfilter, for each of the two versions of IP -------------------------------------
 */

/* bpf(2) itself: libbpf knows it since 1.3. */
static int link_netfilter(int prog_fd, uint32_t pf)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint32_t pf, hook;
		int32_t priority;
		uint32_t nf_flags;
	} attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = NETFILTER,
		.pf = pf,
		.hook = NF_LOCAL_OUT,
	};
	int fd;

	for (int i = 0; i < NF_TRIES; i++) {
		attr.priority = SL_GUARD_PRIORITY + i;
		fd = (int)sl_sys(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
		if (fd != -EBUSY)
			break;
	}
	return sl_fd_keep(fd);
}

static int link_both(const struct guard_nf *g, int link[SL_GUARD_NF])
{
	static const uint32_t pf[SL_GUARD_NF] = {AF_INET, AF_INET6};
	int fd = bpf_program__fd(g->progs.guard_nf);

	for (unsigned i = 0; i < SL_GUARD_NF; i++) {
		link[i] = link_netfilter(fd, pf[i]);
		if (link[i] < 0)
			return link[i];
	}
	return 0;
}

static int load_netfilter(const struct sl_attach *a, struct guard_nf *g)
{
	int err = share_maps(g->obj, a);

	if (!err)
		err = bpf_program__set_type(g->progs.guard_nf, (enum bpf_prog_type)TYPE_NETFILTER);
	if (!err)
		err = bpf_program__set_expected_attach_type(g->progs.guard_nf,
							    (enum bpf_attach_type)NETFILTER);
	return err ? err : guard_nf__load(g);
}

static int open_links(struct sl_attach *a)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	int types = sl_ktypes_file(), err;
	char path[sizeof("/proc/self/fd/2147483647")];
	struct guard_nf *g;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	if (types >= 0 && !access(path, R_OK))
		opts.btf_custom_path = path; /* else libbpf looks through all that there are */
	g = guard_nf__open_opts(&opts);
	err = g ? load_netfilter(a, g) : -errno;
	if (types >= 0)
		sl_sys_close(types);
	if (!err)
		err = link_both(g, a->guard_nf);
	guard_nf__destroy(g);
	return err;
}

static int open_tables(struct sl_attach *a, uint32_t ifindex)
{
	struct guard_nft *g = guard_nft__open();
	int err = g ? share_maps(g->obj, a) : -errno;

	if (!err)
		err = guard_nft__load(g);
	if (!err)
		err = sl_guard_tables(bpf_program__fd(g->progs.guard_nft), ifindex);
	guard_nft__destroy(g);
	if (err < 0)
		return err;
	a->guard_nf[0] = err;
	sl_debug("port", "device %u: the guard is asked by nf_tables", ifindex);
	return 0;
}

/* Logs it once: the next device has the same kernel. */
static void say_unguarded(uint32_t ifindex, int err)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		sl_info("port",
			"device %u: no guard holds the kernel's resets back (%s): connections whose "
			"segments it gets, since their peer sends to another device or the steering "
			"program is taken off, may be reset; remedy: Linux 6.4, or nf_tables of "
			"5.12 with nft_compat and xt_bpf",
			ifindex, sl_strerror(err));
}

static void close_rest(struct sl_attach *a)
{
	for (unsigned i = 0; i < SL_GUARD_NF; i++) {
		if (a->guard_nf[i] >= 0)
			sl_sys_close(a->guard_nf[i]);
		a->guard_nf[i] = -1;
	}
}

static void open_rest(struct sl_attach *a, uint32_t ifindex)
{
	int err;

	if (!a->guard_tried || a->guard_nf_tried)
		return;
	a->guard_nf_tried = true;
	err = by_tables() ? -EOPNOTSUPP : open_links(a);
	if (err) {
		close_rest(a);
		err = open_tables(a, ifindex);
	}
	if (err)
		say_unguarded(ifindex, err);
}

void sl_guard_open_rest(struct sl_attach *a, uint32_t ifindex)
{
	sl_libs_quiet();
	open_rest(a, ifindex);
	sl_libs_restore();
}

/* The device's ---------------------------------------------------------------------------------
 */

static int link_to(int prog, uint32_t ifindex)
{
	int fd = sl_fd_keep(
		bpf_link_create(prog, (int)ifindex, (enum bpf_attach_type)TCX_EGRESS, NULL));

	sl_broker_fd_last(fd, false);
	return fd;
}

/* The program stays loaded: the peers of a device that comes in the place of this one send at once,
 * and loading takes longer than giving it an address. */
static int attach(struct sl_attach *a, uint32_t ifindex)
{
	if (a->guard_prog < 0)
		a->guard_prog = load(a);
	return a->guard_prog < 0 ? a->guard_prog : link_to(a->guard_prog, ifindex);
}

static int attach_quietly(struct sl_attach *a, uint32_t ifindex)
{
	int fd;

	sl_libs_quiet();
	fd = attach(a, ifindex);
	sl_libs_restore();
	return fd;
}

/* A thread that makes the device's link, for which the kernel waits for a grace period. */
struct linking {
	pthread_t thread;
	uint32_t ifindex;
	int prog, fd;
};

static void *make_link(void *arg)
{
	struct linking *l = arg;

	l->fd = link_to(l->prog, l->ifindex);
	return NULL;
}

void sl_guard_open(struct sl_attach *a, uint32_t ifindex)
{
	struct linking l = {.ifindex = ifindex, .fd = -EOPNOTSUPP};
	bool beside = false;

	if (a->guard_tried)
		return;
	a->guard_tried = true;
	sl_libs_quiet();
	if (!by_tables()) {
		a->guard_prog = l.prog = l.fd = load(a);
		beside = l.prog >= 0 && !sl_roomy_thread(&l.thread, make_link, &l);
		if (l.prog >= 0 && !beside)
			make_link(&l);
	}
	open_rest(a, ifindex);
	if (beside)
		pthread_join(l.thread, NULL);
	sl_libs_restore();
	a->guard_fd = sl_max(l.fd, -1);
	if (l.fd < 0)
		sl_debug("port", "device %u: no guard against the kernel's resets: %s", ifindex,
			 sl_strerror(l.fd));
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
	a->guard_nf_tried = true; /* (not any more) */
	close_rest(a);
	if (a->guard_fd >= 0)
		sl_sys_close(a->guard_fd);
	if (a->guard_prog >= 0)
		sl_sys_close(a->guard_prog);
	a->guard_fd = a->guard_prog = -1;
}
