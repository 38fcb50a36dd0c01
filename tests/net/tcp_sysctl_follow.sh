#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# net.ipv4.tcp_* that change while a program runs: the next connection is by the new ones, also to a listener that has
# been idle.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
MODE=one
b sysctl -qw net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_window_scaling=1
cat >"$TMP/server.py" <<'PY'
import socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])))
kept = []
while True:
    kept.append(s.accept()[0])
    kept[-1].send(b"x")
PY
cat >"$TMP/client.py" <<'PY'
"""Prints the options that the connection has: TCP_INFO's tcpi_options, 1 time stamps, 2 SACK, 4 window scaling."""
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
s.recv(1)
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[5] & 7)
PY
bg pb python3 "$TMP/server.py" "$B4" 7000
wait_tcp b 7000
meet
options() { a timeout 10 python3 "$TMP/client.py" "$B4" 7000; }
becomes() { test "$(options)" = "$1"; }
same "time stamps, SACK and scaling, as the machine is set" 7 "$(options)"
for change in "timestamps=0 6" "sack=0 4" "window_scaling=0 0" "sack=1 2" "timestamps=1 3"; do
	b sysctl -qw "net.ipv4.tcp_${change% *}"
	ok "tcp_${change% *} is followed" wait_until 2 becomes "${change#* }"
	sleep 0.2
done
same "the server was not left to the kernel" 0 "$(b ss -Htn state established "sport = 7000" | wc -l)"
done_testing
