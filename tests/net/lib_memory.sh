# SPDX-License-Identifier: BSD-2-Clause
# For tests of programs in a control group for memory, version 1 or 2.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the test's
need_group() { # sets GROUP and LIMIT
	local root
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		GROUP=$root/$NS
		mkdir "$GROUP" 2>/dev/null || continue
		for LIMIT in memory.limit_in_bytes memory.max; do
			[ ! -w "$GROUP/$LIMIT" ] || return 0
		done
		rmdir "$GROUP"
	done
	skip "no control group for memory"
}
