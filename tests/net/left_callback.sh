#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A packet callback that is left by the thread's end (as by an exception): the next call asks it again, other sockets go
# on, and the socket can be closed.
. "$(dirname "$0")/lib.sh"
need python3
net_up
need_built
MODE=one
bg pb timeout 60 "$BIN/left_callback" "$B4" 7000 >"$TMP/said"
server=$BG
wait_line "$TMP/said" ready
bg a python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
	for port in 7000, 7001:
		s.sendto(b"x", (sys.argv[1], port))
	time.sleep(0.005)' "$B4"
wait_end "$server" 40
same "it ends" 0 $?
same "what works" "ready
the thread ended in the callback
afterwards the callback is asked: 1, the other socket: 5
the thread ended in the callback
afterwards the callback is asked: 1, the other socket: 5
a new socket: 5" "$(cat "$TMP/said")"
done_testing
