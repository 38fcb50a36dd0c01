#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device loses its link when a program takes it into use, as some drivers do when XDP is attached: the program's first
# connection, blocking or not, waits for the link and is offloaded. If no link comes, the kernel gives the error.
. "$(dirname "$0")/lib.sh"
net_up
need python3
need_built
MODE=one
a sysctl -qw "net.ipv6.conf.$DEV_A.keep_addr_on_down=1"
has_link() { b ip -o link show dev "$DEV_B" | grep -q LOWER_UP; } # (its sysfs is not mounted)
cut_off() {
	ip -n "${NS}a" link set "$DEV_A" down
	wait_until 10 not has_link || die "the link stays"
	b ip neigh flush dev "$DEV_B"
}
begin() { # address, blocking or not
	rm -f "$TMP"/came.*
	bg sb python3 "$TESTS/net/tcp_restart.py" "$1" 7000 "$2" "$TMP/came"
}
ip -n "${NS}a" link set "$DEV_A" down
wait_until 10 not has_link || skip "one end of the wire has its link without the other (QEMU's)"
ip -n "${NS}a" link set "$DEV_A" up
for addr in "$A4" "$A6"; do
	bg a python3 "$TESTS/net/greeter.py" "$addr" 7000
	server=$BG
	wait_tcp a 7000
	for how in blocking nonblocking; do
		cut_off
		begin "$addr" $how
		ok "$addr, $how: it connects" wait_until 20 test -e "$TMP/came.began"
		sleep 2 # (longer than a neighbour is waited for)
		not test -e "$TMP/came.over" || fail "$addr, $how: $(cat "$TMP/came.over")"
		ip -n "${NS}a" link set "$DEV_A" up
		wait_until 20 test -e "$TMP/came.over"
		same "$addr, $how: it is there" connected "$(cat "$TMP/came.over")"
		same "$addr, $how: the connection is not the kernel's" "" "$(b ss -Htn state established "( dport = :7000 )")"
		stop "$BG"
	done
	stop "$server"
done
cut_off
begin "$A4" nonblocking
wait_until 40 test -e "$TMP/came.over"
same "no link comes" EHOSTUNREACH "$(cat "$TMP/came.over")"
done_testing
