#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A process is killed (kill -9) while a forked child has its connection, and bytes are in the connection's queues: the
# child reads what was not read, the peer gets what was not sent, and both go on (killed_opener.py).
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
peer_is_kernels
PY=$TESTS/net/killed_opener.py
PORT=7600
for MODE in $MODES; do
	for how in ${HOW-"4 unread" "4 unsent" "6 both" "4 late" "6 fin" "4 mixed"}; do
		PORT=$((PORT + 1))
		own=B${how%% *}
		bg pb python3 "$PY" serve "${how#* }" "${!own}" $PORT
		wait_tcp b $PORT
		differ "$how" a timeout 60 python3 "$PY" "${how#* }" "${!own}" $PORT
		say "$(cat "$TMP/differ.err")"
		stop "$BG" 2>/dev/null
	done
done
done_testing
