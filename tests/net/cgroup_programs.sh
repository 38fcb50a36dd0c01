#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A BPF program of the process's control group forbids a connect(2) to offloaded sockets, too, also when it is attached
# later.
. "$(dirname "$0")/lib.sh"
need socat
[ "$(uname -m)" = x86_64 ] || skip "the number of bpf(2) is that of x86-64"
for GROUPS2 in /sys/fs/cgroup /sys/fs/cgroup/unified none; do [ ! -e $GROUPS2/cgroup.procs ] || [ ! -e $GROUPS2/cgroup.controllers ] || break; done
[ $GROUPS2 != none ] || skip "no control groups of version 2"
GROUP=$GROUPS2/sluice-test-$$
net_up
bg a socat TCP-LISTEN:7000,fork,reuseaddr EXEC:cat
wait_tcp a 7000
SL_ENV+=("SLUICE_LOG_FILE=$TMP/log")
for MODE in kernel one; do # (the peer is not preloaded)
	for how in later before; do
		mkdir "$GROUP" || skip "cannot make a control group"
		differ $how pb timeout 30 python3 "$TESTS/net/cgroup_programs.py" $how "$GROUP" "$A4"
		wait_until 5 rmdir "$GROUP" || fail "the group stays"
	done
	[ "$MODE" = kernel ] || ok "the log says why" grep -q "stays* with the kernel: BPF programs" "$TMP/log"
done
ok "offloaded before" grep -q "offloaded: driver" "$TMP/log"
done_testing
