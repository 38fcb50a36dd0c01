#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A child is parted from its parent, however it was made: it has neither packet memory nor rings, maps, connections or
# descriptors of the library; the sockets that it has inherited work.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
meet
PORT=7300
peer_is_kernels
for MODE in $MODES; do
	PORT=$((PORT + 1))
	bg pb timeout 25 python3 "$TESTS/net/parted.py" "$B4" $PORT >"$TMP/b" 2>&1
	subject=$BG
	wait_tcp b $PORT
	ok "a client is answered by all" a timeout 25 python3 "$TESTS/net/parted.py" ask "$B4" $PORT
	ok "the server ends" wait_end "$subject" 20
	for kind in fork bare late; do
		same "$kind: nothing of the parent's" "$kind: memory [], descriptors []" "$(grep "^$kind: " "$TMP/b")"
		ok "$kind: ends as it is to" grep -qx "$kind status 0" "$TMP/b"
	done
done
done_testing
