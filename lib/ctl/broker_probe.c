/* SPDX-License-Identifier: BSD-2-Clause */
/* Can libxdp's dispatcher be used here? libxdp finds out only while it attaches, and then attaches
 * the program alone and by netlink, which would outlive us. So ask first, in the same way. */
#include "ctl/broker_int.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <xdp/libxdp.h>

#include "base/log.h"

#define DISPATCHER "xdp-dispatcher.o"
#define PASS       "xdp_pass" /* a program in it that does nothing */

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

static struct xdp_program *open_pass(struct bpf_program **prog)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .find_filename = DISPATCHER, .prog_name = PASS);
	struct xdp_program *p = xdp_program__create(&opts);
	struct bpf_program *other;
	struct bpf_object *obj;

	if (libxdp_get_error(p))
		return NULL;
	obj = xdp_program__bpf_obj(p);
	*prog = bpf_object__find_program_by_name(obj, PASS);
	bpf_object__for_each_program(other, obj) bpf_program__set_autoload(other, other == *prog);
	return p;
}

/* Loads one as a replacement of a function of the other (freplace, kernel 5.6, BTF). */
static int try_replace(void)
{
	struct bpf_program *target_prog, *test_prog;
	struct xdp_program *target, *test;
	int err = -ENOENT;

	target = open_pass(&target_prog);
	if (!target)
		return err;
	test = open_pass(&test_prog);
	if (!test)
		goto close_target;
	err = bpf_object__load(xdp_program__bpf_obj(target));
	if (err)
		goto close_test;
	err = bpf_program__set_attach_target(test_prog, bpf_program__fd(target_prog), PASS);
	if (err)
		goto close_test;
	bpf_program__set_type(test_prog, BPF_PROG_TYPE_EXT);
	bpf_program__set_expected_attach_type(test_prog, 0);
	err = bpf_object__load(xdp_program__bpf_obj(test));
close_test:
	xdp_program__close(test);
close_target:
	xdp_program__close(target);
	return err;
}

int sl_dispatcher_probe(void)
{
	static int result = 1; /* not known yet */
	const char *skip = secure_getenv("LIBXDP_SKIP_DISPATCHER");

	if (skip && !strcmp(skip, "1"))
		return -ECANCELED;
	if (result > 0) {
		sl_libs_quiet();
		result = try_replace();
		sl_libs_restore();
	}
	return result;
}
