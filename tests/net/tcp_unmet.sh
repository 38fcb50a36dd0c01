#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A peer connects that is not a known neighbour of the listener's host: the SYN-ACK waits until the neighbour is
# resolved, and goes then, also when it is a SYN cookie. The peer need not repeat its SYN a second later.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need python3
mac_of() { ip -n "$NS$1" -o link show "$2" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/'; }
MAC_B=$(mac_of b "$DEV_B")
for addr in "$B4" "$B6"; do # (a, who asked for b, would be known)
	ip -n "${NS}a" neigh replace "$addr" lladdr "$MAC_B" dev "$DEV_A" nud permanent
done
unmet() { # family, WHAT
	local own=B$1 peer=A$1
	bg pb python3 "$TESTS/net/greeter.py" "${!own}" 7000
	wait_tcp b 7000
	# (Some NICs start anew when a program comes or goes, and lose what is sent meanwhile.)
	wait_until 20 link_is_up a "$DEV_A" && wait_until 20 link_is_up b "$DEV_B" || die "the link does not come up"
	b ip neigh flush dev "$DEV_B"
	same "IPv$1, $2: the neighbour is not known" "" "$(b ip neigh show to "${!peer}" nud reachable nud stale nud delay nud probe)"
	same "IPv$1, $2: connected, and no SYN was sent twice" "x 0" "$(a python3 -c '
import socket, struct, sys
c = socket.create_connection((sys.argv[1], 7000))
print(c.recv(1).decode(), struct.unpack_from("I", c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0])' "${!own}")"
	[ "$MODE" = kernel ] || same "IPv$1, $2: the connection is not the kernel's" "" "$(b ss -Htn state established "( sport = :7000 )")"
	stop "$BG"
}
for MODE in $MODES; do
	for fam in 4 6; do
		b sysctl -qw net.ipv4.tcp_syncookies=1
		unmet $fam "a request"
		b sysctl -qw net.ipv4.tcp_syncookies=2
		unmet $fam "a cookie"
	done
done
done_testing
