#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A mostly idle server under a CPU quota of its control group is not stopped for what it polls: no more periods are
# throttled than by the kernel's sockets. (Bound to a core, where it polls most.)
. "$(dirname "$0")/lib_tcp.sh"
need python3 taskset
unsanitized "a sanitizer's work is beyond the quota"
for G in /sys/fs/cgroup /sys/fs/cgroup/cpu; do
	rmdir "$G"/sluice-quota-* 2>/dev/null # (of a killed test)
	G=$G/sluice-quota-$$
	mkdir "$G" 2>/dev/null || continue
	if [ -e "$G/cpu.max" ]; then
		echo "20000 100000" >"$G/cpu.max" && break
	elif [ -e "$G/cpu.cfs_quota_us" ]; then
		echo 100000 >"$G/cpu.cfs_period_us" && echo 20000 >"$G/cpu.cfs_quota_us" && break
	fi
	rmdir "$G"
done
[ -d "$G" ] || skip "no control group with a CPU quota can be made"
throttled() { awk '$1 == "nr_throttled" {print $2}' "$G/cpu.stat"; }
net_up
declare -A AT
PORT=7100
peer_is_kernels
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam
		PORT=$((PORT + 1))
		t=$(throttled)
		bg pb taskset -c 1 python3 "$TESTS/net/cpu_quota.py" server "${!own}" $PORT "$G"
		wait_tcp b $PORT
		segs_begin
		differ "IPv$fam" a timeout 60 python3 "$TESTS/net/cpu_quota.py" client "${!own}" $PORT
		segs_end "IPv$fam" 30
		wait_end "$BG" 20 || fail "the server does not end"
		t=$(($(throttled) - t))
		# Four periods of the 20 and more may differ: another program has the core at the start of one, or the keeper
		# looks a while later.
		if [ "$MODE" = kernel ]; then
			AT[$fam]=$t
		else
			ok "IPv$fam, periods throttled: $t, by the kernel ${AT[$fam]}" test $t -le $((AT[$fam] + 4))
		fi
	done
done
rmdir "$G"
done_testing
