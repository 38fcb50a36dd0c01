/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaches the steering program to a device and takes it off again.
 *
 * Theory of operation: through libxdp, so that other programs have their place beside it. Such an
 * attachment outlives its process and needs the reaper; without a reaper a bpf_link is used, which
 * the kernel ends, but which lets nobody else in and cannot be taken off with `ip link`. */
#include "ctl/steer/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/dev.h"
#include "ctl/device/device.h"
#include "ctl/device/libs.h"
#include "ctl/device/link.h"
#include "ctl/device/opts.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "ctl/steer/attach_skb.h"
#include "ctl/steer/guard.h"
#include "ctl/steer/load.h"
#include "ctl/steer/maps.h"
#include "ctl/steer/whose.h"
#include "ctl/umem/xsk.h"

/* Cleaning --------------------------------------------------------------------------------------
 */

static struct xdp_multiprog *multiprog(uint32_t ifindex)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex((int)ifindex);

	return libxdp_get_error(mp) ? NULL : mp;
}

/* The first of our programs on the device, as a reference of its own. */
static struct xdp_program *find_ours(uint32_t ifindex, uint32_t id)
{
	struct xdp_multiprog *mp = multiprog(ifindex);
	struct xdp_program *p = NULL, *found = NULL;

	if (!mp)
		return NULL;
	if (xdp_multiprog__is_legacy(mp))
		p = xdp_multiprog__main_prog(mp);
	else
		p = xdp_multiprog__next_prog(NULL, mp);
	for (; p; p = xdp_multiprog__next_prog(p, mp)) {
		uint32_t pid = xdp_program__id(p);

		if (id ? pid == id : sl_steer_may_remove(xdp_program__fd(p), ifindex, true)) {
			found = xdp_program__from_id(pid);
			if (libxdp_get_error(found))
				found = NULL;
			break;
		}
	}
	xdp_multiprog__close(mp);
	return found;
}

/* Takes the program off if it is what the device runs in generic mode. */
static int detach_generic(int prog_fd, uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = prog_fd);

	return bpf_xdp_detach((int)ifindex, XDP_FLAGS_SKB_MODE | XDP_FLAGS_REPLACE, &opts);
}

static int detach_prog(struct xdp_program *p, uint32_t ifindex)
{
	int err = 0;

	for (int i = 0; i < 3; i++) {
		err = xdp_program__detach(p, (int)ifindex, XDP_MODE_UNSPEC, 0);
		if (!err || err == -ENOENT)
			return err;
	}
	/* libxdp takes a program that is alone in generic mode for a native one: detach it here. */
	return detach_generic(xdp_program__fd(p), ifindex) == 0 ? 0 : err;
}

static void rm_tree(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[400];

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' && (!e->d_name[1] || e->d_name[1] == '.'))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) < (int)sizeof(path))
			unlink(path);
	}
	closedir(d);
	rmdir(dir);
}

/* A dispatcher's directory holds our program, and the device does not run that dispatcher. */
static bool is_orphan(const char *dir, uint32_t ifindex)
{
	bool ours = false;
	char path[420];

	for (unsigned i = 0; i < 10 && !ours; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/prog%u-prog", dir, i);
		fd = bpf_obj_get(path);
		if (fd < 0)
			break;
		ours = sl_steer_may_remove(fd, ifindex, false);
		sl_sys_close(fd);
	}
	return ours;
}

const char *sl_bpffs_root(void)
{
	const char *env = secure_getenv("LIBXDP_BPFFS");

	return env ? env : "/sys/fs/bpf";
}

bool sl_bpffs_is_there(void)
{
	struct statfs fs;

	return !statfs(sl_bpffs_root(), &fs) && (uint32_t)fs.f_type == BPF_FS_MAGIC;
}

/* True: no other user can change what is in the directory. */
static bool is_own_dir(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (!st.st_uid || st.st_uid == geteuid()) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int sl_bpffs_dir(const char *path)
{
	for (unsigned i = 0; i < 2; i++) {
		int fd;

		if (mkdir(path, 0711) && errno != EEXIST)
			return -errno;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && is_own_dir(fd)) {
			(void)fchmod(fd, 0711); /* an earlier version let all users open it */
			return fd;
		}
		if (fd < 0 && errno != ELOOP && errno != ENOTDIR)
			return -errno;
		if (fd >= 0)
			sl_sys_close(fd);
		if (rmdir(path) && unlink(path))
			break;
	}
	return -EPERM;
}

/* libxdp waits for a lock on its directory without a limit. */
static bool may_dispatch(void)
{
	char path[280];
	int fd;

	if (!sl_bpffs_is_there())
		return false;
	snprintf(path, sizeof(path), "%.270s/xdp", sl_bpffs_root());
	fd = sl_bpffs_dir(path);
	if (fd < 0) {
		sl_warn_once("port", "%s: %s: no other XDP program can be beside ours", path,
			     fd == -EPERM ? "another user's directory; remedy: remove it"
					  : sl_strerror(fd));
		return false;
	}
	sl_sys_close(fd);
	return true;
}

/* After the dispatcher was taken off by hand its pins stay and keep our program loaded. */
static void clean_orphans(uint32_t ifindex)
{
	char root[280], prefix[40], dir[400];
	uint32_t id = 0;
	struct dirent *e;
	DIR *d;

	if (!sl_bpffs_is_there())
		return;
	snprintf(root, sizeof(root), "%s/xdp", sl_bpffs_root());
	snprintf(prefix, sizeof(prefix), "dispatch-%u-", ifindex);
	bpf_xdp_query_id((int)ifindex, 0, &id);
	d = opendir(root);
	if (!d)
		return;
	while ((e = readdir(d))) {
		size_t n = strlen(prefix);

		if (strncmp(e->d_name, prefix, n) || strtoul(e->d_name + n, NULL, 10) == id)
			continue;
		snprintf(dir, sizeof(dir), "%s/%.64s", root, e->d_name);
		if (is_orphan(dir, ifindex))
			rm_tree(dir);
	}
	closedir(d);
}

void sl_attach_clean(uint32_t ifindex)
{
	struct xdp_program *p;

	sl_libs_quiet();
	for (int i = 0; i < 10 && (p = find_ours(ifindex, 0)); i++) {
		int err = detach_prog(p, ifindex);
		uint32_t id;

		sl_debug("port", "device %u: left-over steering program %u removed: %s", ifindex,
			 xdp_program__id(p), err ? sl_strerror(err) : "done");
		id = xdp_program__id(p);
		xdp_program__close(p);
		sl_libs_close_leaks(id);
		if (err)
			break;
	}
	clean_orphans(ifindex);
	sl_libs_restore();
}

/* Attaching -------------------------------------------------------------------------------------
 */

static int why_failed(int err, const char *ifname, const char **why)
{
	if (sl_steer_refused(err, ifname, false, why))
		return -EOPNOTSUPP;
	if (err == -EPERM || err == -EACCES) {
		sl_why(why,
		       "%s: no permission to load and attach an XDP program (needs CAP_BPF, "
		       "CAP_NET_ADMIN, CAP_NET_RAW); remedy: start sluiced(8), which serves "
		       "programs without privileges, run as root, or give the program these "
		       "capabilities",
		       ifname);
		return -EPERM;
	}
	if (err == -EBUSY || err == -EEXIST) {
		sl_why(why,
		       "%s has an XDP program of somebody else that leaves no room for others; "
		       "remedy: ip link set dev %s xdp off, or attach it through libxdp "
		       "(xdp-loader)",
		       ifname, ifname);
		return -EBUSY;
	}
	if (err == -ERANGE || err == -EINVAL) {
		sl_why(why,
		       "%s: the driver refuses XDP with the present settings (%s); remedy: a "
		       "smaller MTU (or Linux 6.6), fewer queues, or LRO off",
		       ifname, sl_strerror(err));
		return -EOPNOTSUPP;
	}
	sl_why(why, "%s: the steering program could not be attached: %s", ifname, sl_strerror(err));
	return err;
}

void sl_attach_take_off(uint32_t ifindex, uint32_t prog_id)
{
	struct xdp_program *p = find_ours(ifindex, prog_id);

	if (p) {
		detach_prog(p, ifindex);
		xdp_program__close(p);
	}
	clean_orphans(ifindex);
}

static void detach(struct sl_attach *a, uint32_t ifindex)
{
	if (a->kind == SL_ATTACH_LIBXDP)
		sl_attach_take_off(ifindex, a->prog_id);
	if (a->kind == SL_ATTACH_CLS)
		a->left = sl_attach_skb_take_off(a, ifindex) != 0;
	if (a->link_fd >= 0)
		sl_sys_close(a->link_fd);
	a->link_fd = -1;
	a->kind = SL_ATTACH_NONE;
}

void sl_attach_unload(struct sl_attach *a)
{
	if (a->prog)
		xdp_program__close(a->prog);
	a->prog = NULL;
	bpf_object__close(a->obj);
	a->obj = NULL;
}

void sl_attach_note_main(struct sl_attach *a, uint32_t ifindex)
{
	struct xdp_multiprog *mp = multiprog(ifindex);

	a->main_id = a->prog_id;
	if (!mp)
		return;
	a->beside = !xdp_multiprog__is_legacy(mp);
	a->main_id = xdp_program__id(xdp_multiprog__main_prog(mp));
	xdp_multiprog__close(mp);
}

uint32_t sl_attach_mode_flag(enum xdp_attach_mode mode)
{
	return mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

static int attach_netlink(struct sl_attach *a, uint32_t ifindex, enum xdp_attach_mode mode)
{
	int fd = sl_steer_load(a, ifindex, mode == XDP_MODE_NATIVE);
	int err;

	if (fd < 0)
		return fd;
	err = bpf_xdp_attach((int)ifindex, fd,
			     sl_attach_mode_flag(mode) | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (err)
		sl_attach_unload(a);
	return err;
}

int sl_attach_beside(struct sl_attach *a, uint32_t ifindex, enum xdp_attach_mode mode)
{
	int err;

	a->hints = 0; /* an attempt without one may have had some */
	a->obj = sl_steer_open(a);
	if (!a->obj)
		return -errno;
	a->prog = xdp_program__from_bpf_obj(a->obj, "xdp");
	err = (int)libxdp_get_error(a->prog);
	if (err)
		a->prog = NULL;
	else
		err = xdp_program__attach(a->prog, (int)ifindex, mode, 0);
	if (err)
		sl_attach_unload(a);
	else
		a->prog_id = xdp_program__id(a->prog);
	if (!err)
		sl_attach_note_main(a, ifindex);
	return err;
}

/* libxdp attaches the program alone when it has no dispatcher. Then this replaces it, in one step,
 * by the form that is bound to the device: many drivers reset their link for a first program, and
 * for none, but not for another one. If that fails the attached program stays. */
static void bind_alone(struct sl_attach *a, uint32_t ifindex, enum xdp_attach_mode mode)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = xdp_program__fd(a->prog));
	struct sl_attach plain = *a;
	int fd, err;

	a->prog = NULL;
	a->obj = NULL;
	fd = sl_steer_load(a, ifindex, true);
	err = fd < 0 ? fd
		     : bpf_xdp_attach((int)ifindex, fd,
				      sl_attach_mode_flag(mode) | XDP_FLAGS_REPLACE, &opts);
	if (err) {
		sl_debug("port", "device %u: the program stays as libxdp attached it: %s", ifindex,
			 sl_strerror(err));
		sl_attach_unload(a);
		*a = plain;
		return;
	}
	sl_attach_unload(&plain);
	sl_libs_close_leaks(plain.prog_id);
}

/* True: extensions may be loaded, which a dispatcher's programs are. Where they may not, libxdp
 * attaches alone, after it has verified the form that is not bound to the device. */
static bool may_extend(void)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_EXT, "probe", "GPL", pass, sl_array_len(pass), NULL);

	/* (A load that extends nothing fails later, with EINVAL.) */
	if (fd >= 0)
		sl_sys_close(fd);
	return fd != -EPERM;
}

/* The dispatcher of libxdp before 1.5.5 does not take programs that move packet pointers, as
 * bpf_xdp_adjust_meta() does, on kernels that check this (6.13 and many stable ones): EINVAL. Only
 * a program that is alone can be bound to the device; a dispatcher's cannot. */
static int attach_shared(struct sl_attach *a, uint32_t ifindex, enum xdp_attach_mode mode)
{
	int err = -ENOENT;

	if (may_dispatch() && may_extend())
		err = sl_attach_beside(a, ifindex, mode);
	if (!err && !a->beside && mode == XDP_MODE_NATIVE)
		bind_alone(a, ifindex, mode);
	if (err == -EINVAL || err == -E2BIG || err == -ENOENT)
		err = attach_netlink(a, ifindex, mode);
	if (err)
		return err;
	a->kind = SL_ATTACH_LIBXDP;
	a->mode = mode;
	sl_attach_note_main(a, ifindex);
	return 0;
}

static int attach_link(struct sl_attach *a, uint32_t ifindex, enum xdp_attach_mode mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = sl_attach_mode_flag(mode));
	int fd = sl_steer_load(a, ifindex, mode == XDP_MODE_NATIVE);

	if (fd < 0)
		return fd;
	a->link_fd = sl_fd_keep(bpf_link_create(fd, (int)ifindex, BPF_XDP, &opts));
	if (a->link_fd < 0) {
		int err = a->link_fd;

		a->link_fd = -1;
		sl_attach_unload(a);
		return err;
	}
	a->kind = SL_ATTACH_LINK;
	a->mode = mode;
	a->main_id = a->prog_id;
	return 0;
}

/* Keeps the maps by descriptors of our own: the loader's stand on low numbers and are closed with
 * it. The device holds the program. */
static int keep_maps(struct sl_attach *a)
{
	for (unsigned i = 0; i < SL_MAP_COUNT; i++) {
		int fd = bpf_object__find_map_fd_by_name(a->obj, sl_map_names[i]);

		if (fd >= 0)
			fd = sl_fd_dup(fd);
		if (fd < 0)
			return fd;
		a->map_fd[i] = fd;
	}
	return 0;
}

/* (libxdp's own look reads the types of all programs.) */
int sl_attach_held(uint32_t ifindex, const char *ifname, const char **why)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	struct sl_link_now now;
	bool held;
	int fd;

	if (sl_link_look(ifindex, &now) || !now.xdp_id)
		return 0;
	fd = bpf_prog_get_fd_by_id(now.xdp_id);
	if (fd < 0)
		return 0;
	held = !bpf_obj_get_info_by_fd(fd, &info, &len) && strcmp(info.name, "xdp_dispatcher") &&
	       !sl_steer_may_remove(fd, ifindex, true);
	sl_sys_close(fd);
	return held ? why_failed(-EBUSY, ifname, why) : 0;
}

/* A driver that refuses the program for several buffers may accept the one for a single buffer. */
static int attach_native(struct sl_attach *a, const struct sl_port_info *info,
			 int (*attach)(struct sl_attach *, uint32_t, enum xdp_attach_mode))
{
	int err = -EOPNOTSUPP;

	a->frags = sl_xsk_may_have_frags(info);
	if (a->frags)
		err = attach(a, info->ifindex, XDP_MODE_NATIVE);
	if (!err || err == -EPERM || err == -EBUSY || err == -EEXIST)
		return err;
	a->frags = false;
	return attach(a, info->ifindex, XDP_MODE_NATIVE);
}

static int attach_xdp(struct sl_attach *a, const struct sl_port_info *info, bool reaper)
{
	int (*attach)(struct sl_attach *, uint32_t, enum xdp_attach_mode) =
		reaper ? attach_shared : attach_link;
	enum sl_broker_xdp want = sl_broker_opts()->xdp;
	int err = -EOPNOTSUPP;

	if (want != SL_BROKER_XDP_GENERIC && !sl_dev_hands_xdp_down(info->driver))
		err = attach_native(a, info, attach);
	if (err == -EOPNOTSUPP && want != SL_BROKER_XDP_NATIVE)
		err = attach(a, info->ifindex, XDP_MODE_SKB);
	return err;
}

static int attach_packet(struct sl_attach *a, const struct sl_port_info *info, bool reaper)
{
	const char *why = NULL, *larger = NULL;
	int err = sl_attach_skb(a, info->ifindex, reaper, &why);

	if (err && err != -EOPNOTSUPP && a->vxlan) {
		sl_why(&larger, "%s: the larger steering program: %s", info->ifname,
		       sl_strerror(err));
		a->vxlan = false;
		err = sl_attach_skb(a, info->ifindex, reaper, &why);
		if (!err)
			sl_steer_refuse_vxlan(a, larger);
	}
	if (err)
		sl_info("port", "%s: no packet sockets (%s): by XDP", info->ifname,
			err == -EOPNOTSUPP && why ? why : sl_strerror(err));
	else /* long packets come in several frames */
		a->frags = info->mtu > sl_frame_mtu(2048);
	return err ? -EOPNOTSUPP : 0;
}

static int attach_best(struct sl_attach *a, const struct sl_port_info *info, bool reaper)
{
	const char *why = NULL;
	int err;

	a->vxlan = sl_steer_wants_vxlan();
	err = attach_xdp(a, info, reaper);
	if (!err || !a->vxlan || !sl_steer_refused(err, info->ifname, true, &why))
		return err;
	sl_steer_refuse_vxlan(a, why);
	return attach_xdp(a, info, reaper);
}

int sl_attach_open(struct sl_attach *a, const struct sl_port_info *info, bool reaper, bool packet,
		   const char **why)
{
	int err = -EOPNOTSUPP;

	if (!sl_steer_make_key(a, true))
		return why_failed(-ENOMEM, info->ifname, why);
	a->groups = sl_broker_opts()->serve;
	a->veth = !strcmp(info->driver, "veth");
	sl_libs_quiet();
	if (info->flags & SL_PORT_VERBS)
		err = sl_steer_load_maps(a);
	else if (packet)
		err = attach_packet(a, info, reaper);
	if (err && !(info->flags & SL_PORT_VERBS))
		err = attach_best(a, info, reaper);
	sl_libs_restore();
	if (err) {
		sl_steer_drop_key(a);
		return why_failed(err, info->ifname, why);
	}
	err = keep_maps(a);
	if (err) {
		sl_why(why, "%s: no descriptors left for the steering maps: %s", info->ifname,
		       sl_strerror(err));
		sl_attach_close(a, info->ifindex);
		return err;
	}
	sl_attach_unload(a);
	sl_libs_close_leaks(a->prog_id);
	return 0;
}

void sl_attach_close(struct sl_attach *a, uint32_t ifindex)
{
	sl_libs_quiet();
	detach(a, ifindex);
	sl_attach_unload(a);
	sl_libs_close_leaks(a->prog_id);
	sl_libs_restore();
	sl_steer_drop_key(a);
	sl_attach_child(a);
}

/* The dispatcher changes whenever a neighbour comes or goes. */
static bool is_in_dispatcher(struct sl_attach *a, uint32_t ifindex)
{
	struct xdp_program *p = find_ours(ifindex, a->prog_id);

	if (p)
		xdp_program__close(p);
	sl_libs_close_leaks(a->prog_id);
	return p != NULL;
}

bool sl_attach_alive(struct sl_attach *a, uint32_t ifindex, uint32_t xdp_id)
{
	bool alive = xdp_id && xdp_id == a->main_id;

	if (sl_attach_is_by_packet(a->kind))
		return sl_attach_skb_is_on(a, ifindex);
	if (a->kind == SL_ATTACH_MAPS)
		return true;
	if (xdp_id && !alive && a->kind == SL_ATTACH_LIBXDP) {
		sl_libs_quiet();
		alive = is_in_dispatcher(a, ifindex);
		sl_libs_restore();
		if (alive)
			a->main_id = xdp_id;
	}
	return alive;
}

bool sl_attach_is_generic(const struct sl_attach *a)
{
	return a->mode == XDP_MODE_SKB;
}

void sl_attach_child(struct sl_attach *a)
{
	if (a->link_fd >= 0)
		sl_sys_close(a->link_fd);
	if (a->drop_fd >= 0)
		sl_sys_close(a->drop_fd);
	a->drop_fd = -1;
	sl_guard_close(a);
	for (unsigned i = 0; i < SL_MAP_COUNT; i++) {
		if (a->map_fd[i] >= 0)
			sl_sys_close(a->map_fd[i]);
		a->map_fd[i] = -1;
	}
}
