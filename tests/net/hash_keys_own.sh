#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# As hash_keys, of a program that does without the daemon: the key by which the steering program spreads a group's flows,
# and that of source ports over VXLAN, are in the program's own memory alone.
. "$(dirname "$0")/lib_tcp.sh"
need python3 strace
unsanitized "strace and the sanitizers do not go together"
net_up
need_built
MODE=one VA=192.168.77.1 VB=192.168.77.2
a sysctl -qw net.ipv4.tcp_fastopen=3
for dev in all "$DEV_B"; do b sysctl -qw "net.ipv4.conf.$dev.rp_filter=1"; done
far() { # host, own, other, device, address
	ip -n "$NS$1" link add vx type vxlan id 42 dstport 4789 local "$2" remote "$3" dev "$4" || skip "the kernel has no VXLAN devices"
	ip -n "$NS$1" addr add "$5/24" dev vx
	ip -n "$NS$1" link set vx up
}
far a "$A4" "$B4" "$DEV_A" $VA
far b "$B4" "$A4" "$DEV_B" $VB
meet
bg pb strace -f -qq -xx -s 80 -e trace=getrandom -e signal=none -o "$TMP/asked" \
	timeout 60 python3 "$TESTS/net/secrets.py" 0.0.0.0 7000 "$TMP/asked" keys >"$TMP/b" 2>&1
server=$BG
wait_tcp b 7000
offload_begin
ok "a client over VXLAN is answered" a timeout 20 python3 "$TESTS/net/secrets.py" ask $VB 7000
ok "the server ends" wait_end "$server" 40
said() { sed -n "s/^$1: //p" "$TMP/b"; }
n=$(said "the server" | grep -o "key" | wc -l)
ok "the server has the steering program's key" grep -q "the server: .*'steering'" "$TMP/b"
ok "and others ($n)" test "$n" -ge 4
same "a child has none" "[]" "$(said fork)"
same "nor has one that is made by the bare instruction" "[]" "$(said bare)"
ok "as another user the server has no key of the steering program" not grep -q "another user: .*'steering'" "$TMP/b"
[ "$(wc -l <"$TMP/b")" = 4 ] || cat "$TMP/b"
done_testing
