#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A child that writes to its parent's connection waits until the kernel has it whole, however long that takes: what it
# writes comes behind what the parent has written, and no byte more.
. "$(dirname "$0")/lib_tcp.sh"
need python3 strace
net_up
PORT=7960
for MODE in $(modes_alone); do
	for how in rest unsent; do
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/fork_whole.py" serve "$B4" $PORT $how "$TMP/go"
		server=$BG
		wait_tcp b $PORT
		bg a python3 "$TESTS/net/fork_whole.py" read "$B4" $PORT $how >"$TMP/read"
		reader=$BG
		wait_until 20 test -e "$TMP/go.ready"
		# (Each step of the keeper's way to the kernel takes longer than the child waits before it looks.)
		strace -f -qq -p "$server" -o "$TMP/trace" -e trace=setsockopt -e "inject=setsockopt:delay_exit=15000" &
		PIDS+=($!)
		wait_until 10 grep -q 'TracerPid:.[1-9]' "/proc/$server/status"
		touch "$TMP/go"
		wait_end "$reader" 30
		same "$how" "all right" "$(cat "$TMP/read")"
		stop "$server"
		rm -f "$TMP/go" "$TMP/go.ready"
	done
done
done_testing
