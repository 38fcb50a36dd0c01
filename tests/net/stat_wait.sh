#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice stat counts select, poll and each epoll set apart, and shows the time that each polls.
. "$(dirname "$0")/lib.sh"
need python3
net_up
need_built
MODE=one
SL_ENV=(SLUICE_CPU_USAGE_STATS=1 SLUICE_SELECT_POLL=2000)
bg sb python3 "$TESTS/net/stat_wait.py" "$B4" >"$TMP/out"
wait_line "$TMP/out" ready 8
stat() { b "$BUILD/sluice" stat -p "$BG" "$@"; }
stat --json >"$TMP/json"
same "calls, events of the kernel and of ours, time-outs, errors" "$(sort "$TMP/out" | grep -v ready)" "$(python3 -c '
import json, sys
names = ("calls", "os_ready", "ready", "timeouts", "errors")
for w in json.load(open(sys.argv[1]))["waits"]:
    print(json.dumps([w["call"], w["fd"], [w[n] for n in names]]))' "$TMP/json" | sort)"
ok "sleeps in them are in the count of the lane" python3 -c 'import json, sys; assert sum(l["sleeps"] for l in json.load(open(sys.argv[1]))["lanes"])' "$TMP/json"
stat -c 1 >"$TMP/v1"
ok "view 1 has the events of select()" grep -qx 'select() Rx Ready:0/3 \[os/offload\]' "$TMP/v1"
ok "and what it polled" grep -qE '^Timeouts:2 Errors:0 Poll:60.00% Polling CPU:[0-9]+%$' "$TMP/v1"
ok "of poll()" eval 'grep -A 1 -x "poll() Rx Ready:1/5 \[os/offload\]" "$TMP/v1" | grep -qx "Timeouts:0 Errors:0 Poll:100.00% Polling CPU:0%"'
ok "of each epoll set that has offloaded members" test "$(grep -cE '^epoll\[[0-9]+\] Rx Ready:(0/6|7/0) ' "$TMP/v1")" = 2
ok "and of no other" test "$(grep -c '^epoll\[' "$TMP/v1")" = 2
ok "view 3 has blocks of them" test "$(stat -c 1 -v 3 | grep -cE '^	(select\(\)|poll\(\)|epoll\[[0-9]+\])$')" = 4
ok "Prometheus has labels" eval '[ "$(stat --prometheus |
	grep -cE "^sluice_wait_calls_total\{pid=.*,call=\"(select\"\} 5|poll\"\} 5|epoll\",fd=\"[0-9]+\"\} [67])$")" = 4 ]'
stat -z
ok "zero is for them, too" eval 'wait_until 5 eval "! stat -c 1 | grep Ready:"'
stop "$BG"
done_testing
