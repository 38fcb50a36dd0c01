/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces an attached steering program by another form of it.
 *
 * Theory of operation: the form that takes packets out of VXLAN is larger, takes longer to verify,
 * and needs more memory, so a device gets it with its first VXLAN device. The new program has the
 * maps and the key of the old one: claims stay, and so does the choice among the sockets of a
 * group. A link and a program that is alone are replaced in one step. A dispatcher runs both for a
 * moment: the new program sees each packet that the old one passes, and has the same claims. The
 * form for sockets that share an endpoint comes before the first of these, likewise: without it the
 * verifier needs two thirds of the time. */
#include "ctl/steer/renew.h"

#include <errno.h>
#include <linux/if_link.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/libs.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "ctl/steer/attach.h"
#include "ctl/steer/attach_skb.h"
#include "ctl/steer/load.h"

/* Puts the loaded program in the place of the one that the device runs alone. */
static int replace_alone(struct sl_attach *a, uint32_t ifindex, int fd, uint32_t old_id)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = bpf_prog_get_fd_by_id(old_id));
	uint32_t flags = sl_attach_mode_flag((enum xdp_attach_mode)a->mode) | XDP_FLAGS_REPLACE;
	int err;

	if (opts.old_prog_fd < 0)
		return -errno;
	err = bpf_xdp_attach((int)ifindex, fd, flags, &opts);
	sl_sys_close(opts.old_prog_fd);
	return err;
}

static int renew_xdp(struct sl_attach *a, uint32_t ifindex)
{
	uint32_t hints = a->hints, old_id = a->prog_id;
	int fd, err;

	if (a->kind == SL_ATTACH_LIBXDP && a->beside) {
		err = sl_attach_beside(a, ifindex, (enum xdp_attach_mode)a->mode);
		if (!err)
			sl_attach_take_off(ifindex, old_id);
	} else {
		err = fd = sl_steer_load(a, ifindex, a->mode == XDP_MODE_NATIVE);
		if (fd >= 0 && hints & ~a->hints)
			err = -EOPNOTSUPP; /* (nobody asks for less time stamps or tags) */
		else if (fd >= 0 && a->kind == SL_ATTACH_LINK)
			err = bpf_link_update(a->link_fd, fd, NULL) ? -errno : 0;
		else if (fd >= 0)
			err = replace_alone(a, ifindex, fd, old_id);
	}
	if (!err)
		sl_attach_note_main(a, ifindex);
	return err;
}

/* Puts the form in the place of the attached one that a says now. On error a is as it was. */
static int renew(struct sl_attach *a, const struct sl_attach *was, const struct sl_port_info *info)
{
	int err = sl_attach_is_by_packet(a->kind) ? sl_attach_skb_renew(a, info->ifindex)
						  : renew_xdp(a, info->ifindex);

	sl_attach_unload(a);
	sl_libs_close_leaks(err ? a->prog_id : was->prog_id);
	if (err)
		*a = *was;
	return err;
}

int sl_attach_add_vxlan(struct sl_attach *a, const struct sl_port_info *info, const char **why)
{
	const struct sl_attach was = *a;
	const char *refusal = NULL;
	int err = -EOPNOTSUPP;

	if (a->vxlan || a->kind == SL_ATTACH_MAPS)
		return 0;
	if (!sl_steer_may_vxlan()) {
		sl_why(why, "this kernel's verifier refuses the program for that");
		return err;
	}
	a->vxlan = true;
	sl_libs_quiet();
	err = renew(a, &was, info);
	if (err && sl_steer_refused(err, info->ifname, true, &refusal))
		sl_steer_refuse_vxlan(a, refusal);
	sl_libs_close_leaks(a->prog_id);
	sl_libs_restore();
	if (err)
		sl_why(why, "the larger steering program: %s", sl_strerror(err));
	else
		sl_info("port", "%s: the steering program takes packets out of VXLAN from now on",
			info->ifname);
	return err;
}

int sl_attach_add_groups(struct sl_attach *a, const struct sl_port_info *info, const char **why)
{
	const struct sl_attach was = *a;
	int err;

	if (a->groups || a->kind == SL_ATTACH_MAPS)
		return 0;
	a->groups = true;
	sl_libs_quiet();
	err = renew(a, &was, info);
	sl_libs_close_leaks(a->prog_id);
	sl_libs_restore();
	if (err)
		sl_why(why, "the steering program for shared endpoints: %s", sl_strerror(err));
	else
		sl_debug("port", "%s: the steering program knows of shared endpoints from now on",
			 info->ifname);
	return err;
}
