/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel whose verifier refuses the form of the steering program that receives VXLAN, and takes
 * the other: the device is offloaded without it. bpf_object__load() stands in for that verifier:
 * libxdp, and the library by its table, call this file's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/device/device.h"
#include "ctl/front/broker.h"
#include "ctl/kern/libbpf.h"
#include "steer.skel.h"

static bool refuses_all;
static unsigned refused, loaded;
static int (*real)(struct bpf_object *);

static int refuse_load(struct bpf_object *obj)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, SL_STEER_PROG);
	struct bpf_map *map = bpf_object__find_map_by_name(obj, ".rodata");
	const struct steer__rodata *constants = NULL;
	size_t size = 0;
	char *log;

	if (prog && map)
		constants = bpf_map__initial_value(map, &size);
	if (!constants || !(refuses_all || constants->has_vxlan)) {
		loaded += !!constants;
		return real(obj);
	}
	refused++;
	log = (char *)(uintptr_t)bpf_program__log_buf(prog, &size);
	if (log && size)
		snprintf(log, size, "BPF program is too large. Processed 1000001 insn\n");
	return -(errno = E2BIG);
}

static int run(const char *command)
{
	return system(command);
}

static unsigned lines_of(const char *path, const char *text)
{
	char line[1024];
	unsigned n = 0;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return n;
}

static void test_offloaded_without(void **state)
{
	const char *path = *state;
	struct sl_port_info info[2];
	uint32_t below[2] = {if_nametoindex("sltest0"), if_nametoindex("sltest1")};
	const char *why = "";

	for (unsigned i = 0; i < 2; i++) {
		if (sl_broker_port_open(below[i], true, &info[i], &why))
			fail_msg("%s", why);
		assert_false(sl_device_find(below[i])->attach.vxlan);
		assert_int_equal(sl_broker_port_end(below[i], 0), SL_PORT_END_STEERED);
	}
	assert_true(refused > 0);
	assert_true(loaded > 0);
	/* Said once, and the second device does not try. */
	assert_int_equal(lines_of(path, "VXLAN is not received natively"), 1);
	assert_int_equal(lines_of(path, "too large"), 1);
	why = "";
	assert_true(sl_broker_vlan_get(below[0], if_nametoindex("slvx"), SL_VXLAN_TAG(7), &why) <
		    0);
	for (unsigned i = 0; i < 2; i++)
		sl_broker_port_close(below[i], info[i].rules);
}

/* The other form is refused, too: the device stays with the kernel, with the verifier's reason. */
static void test_all_refused(void **state)
{
	struct sl_port_info info;
	const char *why = "";

	refuses_all = true;
	assert_int_equal(sl_broker_port_open(if_nametoindex("sltest0"), true, &info, &why),
			 -EOPNOTSUPP);
	assert_non_null(strstr(why, "verifier refuses the steering program: BPF program is too"));
	refuses_all = false;
}

int main(void)
{
	static char path[] = "/tmp/test_vxlan_refused.XXXXXX";
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_offloaded_without, path),
		cmocka_unit_test(test_all_refused),
	};
	struct sl_libbpf *calls = sl_unconst(sl_libbpf());
	int fd, failed;

	real = calls->bpf_object__load_;
	calls->bpf_object__load_ = refuse_load;
	if (geteuid()) {
		puts("skipped: needs root");
		return 77;
	}
	if (unshare(CLONE_NEWNET) ||
	    run("ip link add sltest0 type veth peer name sltest1 && ip link set sltest0 up && "
		"ip link set sltest1 up"))
		return 1;
	if (run("ip link add slvx type vxlan id 7 dstport 4789 local 10.0.0.1 remote 10.0.0.2 "
		"dev sltest0")) {
		puts("skipped: the kernel has no VXLAN");
		return 77;
	}
	fd = mkstemp(path);
	close(fd);
	sl_log_open(SL_LOG_INFO, 0, 0, path);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sl_broker_fini();
	unlink(path);
	return failed ? 1 : 0;
}
