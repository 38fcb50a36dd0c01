/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the steering program in the best form that kernel and driver take.
 *
 * Theory of operation: bound to its device (Linux 6.3, a driver that has hints) it may ask for
 * hardware time stamps and, since 6.8 and of a driver that tells them, for tags that are not in
 * the frame; else it asks for nothing. A bound program runs natively and alone: a dispatcher's
 * programs take after the dispatcher, and libxdp knows no way to bind that (xdp-tools, pull request
 * 495). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "ctl/broker_int.h"
#include "ctl/netdev.h"
#include "steer.skel.h"
#include "steer_bound.skel.h"

#define DEV_BOUND_ONLY (1u << 6) /* BPF_F_XDP_DEV_BOUND_ONLY, which older headers do not have */

struct bpf_object *sl_steer_open(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "steer");
	size_t size;
	const void *elf = steer__elf_bytes(&size);

	return bpf_object__open_mem(elf, size, &opts);
}

static struct bpf_object *open_bound(uint32_t ifindex, bool tags)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "steer");
	uint8_t has_vlan_tag = tags;
	struct bpf_program *prog;
	struct bpf_object *obj;
	size_t size;
	const void *elf = steer_bound__elf_bytes(&size);

	obj = bpf_object__open_mem(elf, size, &opts);
	if (!obj)
		return NULL;
	prog = bpf_object__find_program_by_name(obj, "steer");
	bpf_program__set_ifindex(prog, ifindex);
	bpf_program__set_flags(prog, DEV_BOUND_ONLY);
	if (!bpf_map__set_initial_value(bpf_object__find_map_by_name(obj, ".rodata"), &has_vlan_tag,
					sizeof(has_vlan_tag)))
		return obj;
	bpf_object__close(obj);
	return NULL;
}

/* Takes the object in any case. */
static int load(struct sl_attach *a, struct bpf_object *obj, uint32_t hints)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd, err;

	if (!obj)
		return -errno;
	err = bpf_object__load(obj);
	fd = err ? err : bpf_program__fd(bpf_object__find_program_by_name(obj, "steer"));
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len))
		fd = -errno;
	if (fd < 0) {
		bpf_object__close(obj);
		return fd;
	}
	a->obj = obj;
	a->prog_id = info.id;
	a->hints = hints;
	return fd;
}

/* One that has other hints takes a program that asks for tags, too, and answers nothing. */
static bool tells_tags(uint32_t ifindex)
{
	struct sl_netdev dev;

	return !sl_netdev_query(ifindex, &dev) && dev.hints_known && dev.hints & SL_XDP_HINT_TAG;
}

int sl_steer_load(struct sl_attach *a, uint32_t ifindex, bool native)
{
	int fd = -EOPNOTSUPP;

	if (native && tells_tags(ifindex))
		fd = load(a, open_bound(ifindex, true), SL_HINT_STAMP | SL_HINT_TAG);
	if (native && fd < 0 && fd != -EPERM)
		fd = load(a, open_bound(ifindex, false), SL_HINT_STAMP);
	if (fd >= 0 || fd == -EPERM)
		return fd;
	if (native)
		sl_debug("port", "device %u: the steering program is not bound to it: %s", ifindex,
			 sl_strerror(fd));
	return load(a, sl_steer_open(), 0);
}
