/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaches the steering program of devices that receive by packet sockets: by tcx, or as a tc
 * filter. The filter stays when the process is killed, until its reaper removes it, and harms
 * nobody meanwhile: the map of lanes is empty then, and packets pass. */
#include "ctl/steer/attach_skb.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/compat.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/memcheck.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/device/libs.h"
#include "ctl/device/opts.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netlink.h"
#include "ctl/kern/say.h"
#include "ctl/kern/tc.h"
#include "ctl/steer/load.h"
#include "ctl/steer/whose.h"
#include "steer_skb.skel.h"
#include "steer_skb_plain.skel.h"

/* (Nothing but its version tells what a kernel's packet sockets can say of a packet.) */
static bool has_udp_gso(void)
{
	unsigned major, minor;
	struct utsname u;

	return uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major > 6 ||
	       (major == 6 && minor >= 2);
}

static int prepare(const struct sl_attach *a, struct bpf_object *obj)
{
	bool udp_gso = has_udp_gso();
	struct steer_skb__rodata constants = {
		.has_vxlan = true, .has_groups = a->groups, .has_udp_gso = udp_gso};
	struct steer_skb_plain__rodata plain = {.has_groups = a->groups, .has_udp_gso = udp_gso};
	const struct sl_steer_constants with = {&constants, sizeof(constants),
						(uint64_t *)constants.hash_key},
					without = {&plain, sizeof(plain),
						   (uint64_t *)plain.hash_key};

	return sl_steer_prepare(a, obj, a->vxlan ? &with : &without);
}

static struct bpf_object *load(const struct sl_attach *a)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "steer_skb");
	size_t size;
	const void *elf =
		a->vxlan ? steer_skb__elf_bytes(&size) : steer_skb_plain__elf_bytes(&size);
	struct bpf_object *obj = bpf_object__open_mem(elf, size, &opts);
	int err;

	if (!obj)
		return NULL;
	err = prepare(a, obj);
	if (!err)
		err = bpf_object__load(obj);
	if (!err)
		return obj;
	bpf_object__close(obj);
	errno = -err;
	return NULL;
}

static int prog_fd(const struct bpf_object *obj, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name));
}

/* Notes the program's number; its descriptor or -errno. */
static int loaded(struct sl_attach *a)
{
	int fd = prog_fd(a->obj, SL_STEER_SKB_PROG);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	a->prog_id = info.id;
	return fd;
}

static int load_trivial(const char *name, int verdict)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = verdict},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, name, "Dual BSD/GPL", insns,
			     sl_array_len(insns), NULL);
}

/* A link whose program passes everything, which a thread makes. */
struct opening {
	pthread_t thread;
	uint32_t ifindex;
	int link_fd; /* or -errno */
};

static void *make_link(void *arg)
{
	struct opening *o = arg;
	int pass = load_trivial("pass", TC_ACT_UNSPEC), fd = pass;

	if (pass >= 0) {
		fd = sl_fd_keep(bpf_link_create(pass, (int)o->ifindex,
						(enum bpf_attach_type)TCX_INGRESS, NULL));
		sl_sys_close(pass);
	}
	o->link_fd = fd;
	return NULL;
}

int sl_attach_drop(struct sl_attach *a)
{
	int fd;

	(void)sl_memcheck(SL_MEMCHECK_QUIET, 1, 0);
	fd = load_trivial("drop", TC_ACT_SHOT);
	(void)sl_memcheck(SL_MEMCHECK_QUIET, (uintptr_t)-1, 0);
	if (fd >= 0)
		a->drop_fd = fd = sl_fd_keep(fd);
	return sl_min(fd, 0);
}

/* Puts the loaded program into the link. */
static int fill_link(struct sl_attach *a)
{
	int fd = loaded(a);

	return fd < 0 || !bpf_link_update(a->link_fd, fd, NULL) ? sl_min(fd, 0) : -errno;
}

/* The kernel waits for a grace period when it makes a link, and not when it changes the program of
 * one. */
static int attach_tcx(struct sl_attach *a, uint32_t ifindex)
{
	struct opening o = {.ifindex = ifindex};
	bool beside = !sl_roomy_thread(&o.thread, make_link, &o);
	int err = 0;

	a->obj = load(a);
	if (!a->obj)
		err = -errno;
	if (beside)
		pthread_join(o.thread, NULL);
	else if (!err)
		make_link(&o);
	else
		o.link_fd = -ECANCELED;
	a->link_fd = sl_max(o.link_fd, -1);
	if (!err)
		err = a->link_fd < 0 ? o.link_fd : fill_link(a);
	if (!err)
		sl_broker_fd_last(a->link_fd, true);
	a->kind = SL_ATTACH_TCX;
	return err;
}

/* By a tc filter ------------------------------------------------------------------------------- */

/* The verdict of somebody's filter may end the look of the kernel at further ones: a connection of
 * ours would lose its packets to the kernel. */
static int may_filter(int nl, uint32_t ifindex, const char **why)
{
	struct sl_tc_filter seen;
	int err = sl_tc_look(nl, ifindex, &seen);

	if (!err && seen.others) {
		sl_why(why, "others have tc filters on it, and tcx needs Linux 6.6");
		err = -EOPNOTSUPP;
	}
	return err;
}

static int attach_filter(struct sl_attach *a, uint32_t ifindex, bool reaper, const char **why)
{
	int err = sl_fd_keep(sl_netlink_open(NETLINK_ROUTE));

	if (err < 0)
		return err;
	a->link_fd = err;
	a->kind = SL_ATTACH_CLS;
	if (!reaper) {
		sl_why(why, "tcx needs Linux 6.6, and a tc filter a reaper");
		return -EOPNOTSUPP;
	}
	err = may_filter(a->link_fd, ifindex, why);
	if (err)
		return err;
	a->obj = load(a);
	err = a->obj ? loaded(a) : -errno;
	return err < 0 ? err : sl_tc_attach(a->link_fd, ifindex, err);
}

static int fill_filter(struct sl_attach *a, uint32_t ifindex)
{
	struct sl_tc_filter seen;
	uint32_t before = a->prog_id;
	int fd = loaded(a), err = fd < 0 ? fd : sl_tc_look(a->link_fd, ifindex, &seen);

	if (!err && seen.prog_id != before)
		err = -ENOENT;
	return err < 0 ? err : sl_tc_replace(a->link_fd, ifindex, &seen, fd);
}

int sl_attach_skb_take_off(const struct sl_attach *a, uint32_t ifindex)
{
	struct sl_tc_filter seen;
	int err = sl_tc_look(a->link_fd, ifindex, &seen);

	return !err && seen.prog_id == a->prog_id ? sl_tc_remove(a->link_fd, ifindex, &seen) : err;
}

static bool is_ours(const struct sl_tc_filter *f, uint32_t ifindex)
{
	int fd = f->prog_id ? bpf_prog_get_fd_by_id(f->prog_id) : -ENOENT;
	bool ours = fd >= 0 && sl_steer_may_remove(fd, ifindex, true);

	if (fd >= 0)
		sl_sys_close(fd);
	return ours;
}

void sl_attach_skb_clean(uint32_t ifindex)
{
	struct sl_tc_filter seen;
	int nl = sl_netlink_open(NETLINK_ROUTE);

	if (nl < 0)
		return;
	if (!sl_tc_look(nl, ifindex, &seen) && is_ours(&seen, ifindex) &&
	    !sl_tc_remove(nl, ifindex, &seen))
		sl_debug("port", "device %u: left-over tc filter removed", ifindex);
	sl_sys_close(nl);
}

/* Either way ----------------------------------------------------------------------------------- */

int sl_attach_skb(struct sl_attach *a, uint32_t ifindex, bool reaper, const char **why)
{
	int err;

	a->hints = 0;
	err = sl_tcx_is_there() ? attach_tcx(a, ifindex) : attach_filter(a, ifindex, reaper, why);
	if (!err)
		return 0;
	a->kind = SL_ATTACH_NONE;
	if (a->link_fd >= 0)
		sl_sys_close(a->link_fd);
	a->link_fd = -1;
	if (a->obj)
		bpf_object__close(a->obj);
	a->obj = NULL;
	return err;
}

int sl_attach_skb_renew(struct sl_attach *a, uint32_t ifindex)
{
	a->obj = load(a);
	if (!a->obj)
		return -errno;
	return a->kind == SL_ATTACH_CLS ? fill_filter(a, ifindex) : fill_link(a);
}

bool sl_attach_skb_is_on(const struct sl_attach *a, uint32_t ifindex)
{
	struct bpf_link_info info = {0};
	uint32_t len = sizeof(info);
	struct sl_tc_filter seen;

	if (a->kind == SL_ATTACH_CLS)
		return !sl_tc_look(a->link_fd, ifindex, &seen) && seen.prog_id == a->prog_id;
	/* (The number of the device stands where that of an XDP link does.) */
	return !bpf_obj_get_info_by_fd(a->link_fd, &info, &len) && info.xdp.ifindex;
}
