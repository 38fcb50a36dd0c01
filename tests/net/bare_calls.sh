#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that waits for its sockets by the bare instruction, itself or in a library that it opens later, is served by
# the kernel; one that does not is offloaded. A child that is forked while another thread looks through the code opens
# libraries and makes sockets as ever.
. "$(dirname "$0")/lib_tcp.sh"
need python3 gcc strace
[ "$(uname -m)" = x86_64 ] || skip "the instruction is x86's"
net_up
need_built
gcc -shared -fPIC -O1 -DWAITS -o "$TMP/waits.so" "$TESTS/net/bare_calls.c" || skip "no compiler"
gcc -O1 -DPLAIN -o "$TMP/plain" "$TESTS/net/bare_calls.c" || skip "no compiler"
gcc -shared -fPIC -O1 -DWAITS -DPLAIN -o "$TMP/other.so" "$TESTS/net/bare_calls.c" || skip "no compiler"
chmod a+rx "$TMP" "$TMP/plain" "$TMP"/*.so
printf '#!/bin/sh\nexec strace -f -qq -o /dev/null -e trace=lseek -e inject=lseek:delay_enter=400000 "%s" "$@"\n' "$TMP/plain" >"$TMP/slowly"
chmod a+rx "$TMP/slowly"
PORT=7900
peer_is_kernels
asks() { # name program how [library [other]]
	PORT=$((PORT + 1))
	bg pb "$2" "$3" "$B4" $PORT 3 "${@:4}" >"$TMP/said"
	wait_tcp b $PORT
	segs_begin
	differ "$1" a timeout 20 python3 "$TESTS/net/uring_accept.py" "$B4" $PORT "" 3
	ok "$1: the server ends" wait_end "$BG" 20
	ok "$1: it ends well" grep -q "ends well" "$TMP/said"
}
for MODE in $MODES; do
	meet
	asks plain "$TMP/plain" wait
	segs_end plain 20
	asks bare "$BIN/bare_calls" bare
	asks library "$TMP/plain" wait "$TMP/waits.so"
	asks "library in another's place" "$TMP/plain" wait "$TMP/waits.so" "$TMP/other.so"
	asks "a child meanwhile" "$TMP/slowly" fork "$TMP/waits.so" # (strace holds the thread that looks)
	[ "$MODE" = one ] && ok "the log says why" grep -q "calls poll(2) by the bare instruction" "$TMP"/sluice.*.log
done
done_testing
