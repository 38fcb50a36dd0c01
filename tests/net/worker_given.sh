#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker without the device gets connections by SCM_RIGHTS from a process that has it: the worker learns soon that they
# stay with the kernel. It loads no BPF program for that, and waits for nobody to end.
. "$(dirname "$0")/lib.sh"
net_up
need strace
unsanitized "strace and the sanitizers do not go together"
need_built
MODE=one
bg pb strace -f -qq -o "$TMP/calls" -e trace=bpf,nanosleep python3 "$TESTS/net/worker_given.py" "$B4" 7000 >"$TMP/out"
wait_tcp b 7000
wait_until 10 test -s "$TMP/out"
worker=$(cat "$TMP/out")
for i in 1 2 3; do
	same "connection $i is answered" "hello $i" "$(a timeout 20 socat -t 20 - "TCP:$B4:7000" <<<"hello $i")"
done
grep "^$worker " "$TMP/calls" >"$TMP/worker"
same "the worker loads no program that goes through files" "" "$(grep 'TYPE_TRACING' "$TMP/worker")"
same "the worker waits for no process to end" "" "$(grep nanosleep "$TMP/worker")"
ok "it says why" file_has "$TMP/sluice.$worker.log" "$DEV_B.*used by process"
done_testing
