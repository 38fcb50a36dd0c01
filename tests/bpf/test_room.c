/* SPDX-License-Identifier: BSD-2-Clause */
/* Room in the steering program that is bound to a device: what the verifier adds must never move it
 * (lib/ctl/steer/load.c says why). No bound one is loaded here, only its twin with hints of the
 * test's own, which any kernel takes without danger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "ctl/steer/load.h"
#include "steer_fake.skel.h"
#include "steer_skb.skel.h"

#define INSN sizeof(struct bpf_insn)

/* At least so many instructions are left when the verifier has added its own. */
#define SPARE 300

static void test_what_fits(void **state)
{
	const size_t page = 4096;

	assert_true(sl_steer_fits(page / INSN, page - 256, page));
	assert_false(sl_steer_fits(page / INSN, page - 255, page)); /* its header has no room */
	assert_true(sl_steer_fits(page / INSN + 1, page, page));    /* a second page is begun */
	assert_false(sl_steer_fits(page / INSN + 1, 2 * page, page));
	assert_true(sl_steer_fits(100, 5000, 65536));
	assert_false(sl_steer_fits(100, 0, page)); /* who may not look does not know */
}

/* Whatever of a page is left by luck: the room is there without it. */
static void test_room(void **state)
{
	struct steer_fake *skel = steer_fake__open_and_load();
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	size_t insns;

	assert_non_null(skel);
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.steer), &info, &len),
			 0);
	insns = bpf_program__insn_cnt(skel->progs.steer);
	print_message("           %zu instructions, %zu as the kernel has them\n", insns,
		      info.xlated_prog_len / INSN);
	assert_in_range(info.xlated_prog_len / INSN, 1000, insns - SPARE);
	assert_true(sl_steer_fits(insns, info.xlated_prog_len, (size_t)sysconf(_SC_PAGESIZE)));
	steer_fake__destroy(skel);
}

/* The program of packet sockets ends no larger than it began: it loads a quarter faster then. */
static void test_room_skb(void **state)
{
	struct steer_skb *skel = steer_skb__open_and_load();
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	size_t insns;

	assert_non_null(skel);
	assert_int_equal(
		bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.steer_skb), &info, &len), 0);
	insns = bpf_program__insn_cnt(skel->progs.steer_skb);
	print_message("           %zu instructions, %zu as the kernel has them\n", insns,
		      info.xlated_prog_len / INSN);
	assert_in_range(info.xlated_prog_len / INSN, 1000, insns);
	steer_skb__destroy(skel);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_room_skb),
	};

	if (geteuid()) {
		puts("skipped: needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
