#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The peer of a server that is killed (kill -9) is refused while the process is still ending: the kernel has closed the
# program's socket by then, and waits for a grace period at each of the library's files.
. "$(dirname "$0")/lib.sh"
need python3
net_up
PORT=7300
for MODE in kernel one; do
	: >"$TMP/parts.$MODE"
	for round in 1 2 3 4 5; do
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/udp_killed.py" serve "$B4" $PORT
		wait_udp b $PORT
		differ "killed$round" a timeout 30 python3 "$TESTS/net/udp_killed.py" "$B4" $PORT
		cat "$TMP/differ.err" >>"$TMP/parts.$MODE"
		stop "$BG" 2>/dev/null
	done
	say "$MODE: refused after $(tr '\n' ' ' <"$TMP/parts.$MODE")percent of the end"
done
middle=$(sort -n "$TMP/parts.one" | sed -n 3p)
ok "the peer is refused long before the process has ended ($middle percent)" test "$middle" -le 75
done_testing
