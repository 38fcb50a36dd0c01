#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A station learns no more about the packets of others from the numbers in those that it gets than by the kernel: IDs of
# IPv4 (RFC 7739: a station that foresees one puts its own fragment into another's datagram), flow labels, initial sequence
# numbers, time stamps, ports. (Time stamps tell those of others by kernels from before the spring of 2026.)
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
peer_is_kernels
ghosts_are permanent
b sysctl -qw net.ipv4.tcp_fastopen=0 # (so the library cannot ask the kernel for its time stamps)
bg a python3 -c 'import socket, sys
ls = [socket.create_server((a, 7000), family=f, backlog=500) for a, f in zip(sys.argv[1:], (2, 10))]
while True: sys.stdin.readline() or __import__("signal").pause()' "$A4" "$A6"
wait_tcp a 7000
for MODE in $MODES; do
	for fam in 4 6; do
		own=B$fam peer=A$fam ghost=G$fam
		meet
		[ "$MODE" = kernel ] || pb python3 "$TESTS/net/hostile_numbers.py" send "${!own}" "${!peer}" "${!ghost}" # (the device opens)
		bg a python3 "$TESTS/net/hostile_numbers.py" look "$DEV_A" "${!own}" >"$TMP/told"
		wait_line "$TMP/told" ready
		sent=$(udp_stat b OutDatagrams)
		pb python3 "$TESTS/net/hostile_numbers.py" send "${!own}" "${!peer}" "${!ghost}"
		wait_end "$BG"
		same "the packets were seen" 0 $?
		while read -r line; do
			case $line in
			ready) ;;
			sockets*) same "sockets" "sockets 16 8 8" "$line" ;;
			"time stamps"*) [ "$MODE" = kernel ] || same "time stamps" "${line%% [yn]*} no" "$line" ;;
			*what\ another*) same "IPv$fam" "${line% *} 0" "$line" ;;
			*) ok "IPv$fam: $line" test "${line##* }" = no ;;
			esac
		done <"$TMP/told"
		[ "$MODE" = kernel ] || ok "the library sent" test $(($(udp_stat b OutDatagrams) - sent)) -lt 60
	done
done
done_testing
