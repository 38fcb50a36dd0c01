#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A TCP and UDP server under valgrind's memcheck, by packet sockets and by XDP: nothing that the library does is reported to the program's user.
. "$(dirname "$0")/lib.sh"
need valgrind python3
unsanitized "valgrind runs no sanitized program"
net_up
MODE=one
for SLUICE_RX_BACKEND in packet xdp; do
	export SLUICE_RX_BACKEND
	by=$SLUICE_RX_BACKEND
	bg pb valgrind --log-file="$TMP/memcheck" "$BIN/memcheck" "$B4" 7000
	wait_until 60 bound b 0 tcp 7000 || die "the server does not listen"
	same "$by: the answers" "TCP True
UDP 20" "$(a timeout 60 python3 "$TESTS/net/memcheck.py" "$B4" 7000)"
	wait_end "$BG" 30
	same "$by: the server ends well" 0 $?
	ok "$by: memcheck has no error" grep -q "ERROR SUMMARY: 0 errors" "$TMP/memcheck"
	ok "$by: it sees no change of stacks" not grep -q "switching stacks" "$TMP/memcheck"
	[ "$FAILED" = 0 ] || grep -av '^--' "$TMP/memcheck" | head -60
done
done_testing
