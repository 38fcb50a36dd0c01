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
	for how in ${HOW-4unread 4unsent 6both 4late 6fin 4mixed 6unused 4many}; do
		PORT=$((PORT + 1))
		own=B${how%%[a-z]*}
		bg pb python3 "$PY" serve "${how#[46]}" "${!own}" $PORT
		wait_tcp b $PORT
		differ "$how" a timeout 60 python3 "$PY" "${how#[46]}" "${!own}" $PORT
		say "$(cat "$TMP/differ.err")"
		stop "$BG" 2>/dev/null
	done
done
[ -z "${LEASED:-}" ] || [ -n "${HOW:-}" ] || {
	# The daemon gives it to processes of the same user that have the socket, and to no others.
	export DIR=$TMP/idle
	mkdir -m 777 "$DIR"
	bg sb python3 "$PY" serve idle "$B4" 7599
	wait_tcp b 7599
	bg a timeout 60 python3 "$PY" idle "$B4" 7599 >"$TMP/peer"
	wait_until 20 test -e "$DIR/child"
	said=$(b python3 "$PY" thief "$TMP/sluiced.b" "$DIR")
	none="No such file or directory"
	same "a connection is its user's" "0 the child's: $none
0 another: $none
65533 the child's: $none
65533 another: $none
65534 the child's: the connection to $A4
65534 another: $none" "$said"
	wait_end "$BG" 30
	same "the child has it, too" "idle peer's bytes whole True own bytes True" "$(cat "$TMP/peer")"
}
done_testing
