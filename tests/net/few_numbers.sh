#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# close_range(2), posix_spawn(3) and dup2(2) of a process with few sockets do not read the library's whole table of
# numbers: the process's memory stays what it was.
. "$(dirname "$0")/lib.sh"
case $BUILD in *san*) skip "a sanitizer's memory grows with each call" ;; esac
need socat
net_up
bg a socat TCP-LISTEN:7000,fork,reuseaddr EXEC:cat
wait_tcp a 7000
SL_ENV+=("SLUICE_LOG_FILE=$TMP/log")
for MODE in kernel one; do # (the peer is not preloaded)
	for what in close_range spawn dup2; do
		differ $what pb timeout 60 python3 "$TESTS/net/few_numbers.py" "$A4" $what
		[ "$MODE" = kernel ] || ok "$what: offloaded" grep -q "offloaded" "$TMP/log"
		rm -f "$TMP/log"
	done
done
done_testing
