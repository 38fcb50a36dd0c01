#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The ports of connections: a small range has most of its ports in TIME_WAIT. In another range a program holds the ports
# that connect(2) takes first: a connection tries a few ports.
. "$(dirname "$0")/lib_tcp.sh"
net_up
b sysctl -qw net.ipv4.ip_local_port_range="40000 40199"
tcp_differ ports 15
case $BUILD in *san*) done_testing ;; esac # (strace and the sanitizers do not go together)
need strace
MODE=one
b sysctl -qw net.ipv4.ip_local_port_range="42000 42199"
bg b python3 "$TESTS/net/tcp_ports_taken.py" hold "$B4" 42000 42200 >"$TMP/hold"
bg a python3 "$TESTS/net/tcp_ports_taken.py" accept "$A4" 7100
wait_tcp a 7100
wait_until 10 grep -q ready "$TMP/hold"
same "connections with half of the ports taken" "40 connections" \
	"$(sb strace -f -qq -e trace=bind -o "$TMP/trace" python3 "$TESTS/net/tcp_ports_taken.py" connect "$A4" 7100 40)"
n=$(grep -c 'AF_INET.*EADDRINUSE' "$TMP/trace")
ok "$n ports were refused to 40 connections" test "$n" -le 200
ok "it is offloaded: it chose $(grep -c 'AF_INET.*port=htons(42.*= 0' "$TMP/trace") ports itself" \
	test "$(grep -c 'AF_INET.*port=htons(42.*= 0' "$TMP/trace")" -ge 40
done_testing
