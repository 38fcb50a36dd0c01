/* SPDX-License-Identifier: BSD-2-Clause */
/* The message for a steering program that the kernel refuses: root got "no permission". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/base.h"
#include "ctl/steer/load.h"

static void test_reason(void **state)
{
	static const struct {
		const char *log, *reason;
	} cases[] = {
		{"", ""},
		{"combined stack size of 3 calls is 544. Too large\n"
		 "verification time 644102 usec\nstack depth 296+0+8+0+192+8\n"
		 "processed 14035 insns (limit 1000000) max_states_per_insn 15 total_states 622 "
		 "peak_states 506 mark_read 0\n",
		 "combined stack size of 3 calls is 544. Too large"},
		{"invalid access to packet, off=0 size=1, R1(id=419,off=0,r=0)\n"
		 "R1 offset is outside of the packet\nprocessed 5866 insns",
		 "R1 offset is outside of the packet"},
		{"processed 12 insns\n", ""},
		{"unknown func bpf_loop#181", "unknown func bpf_loop#181"},
	};
	char log[512];

	for (unsigned i = 0; i < sl_array_len(cases); i++) {
		snprintf(log, sizeof(log), "%s", cases[i].log);
		assert_string_equal(sl_verifier_reason(log), cases[i].reason);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
