#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VXLAN packets that a station forges, outside and inside: addresses, tags, lengths, fragments, extension headers, VXLAN in
# VXLAN. What an offloaded program gets is what the kernel gives it, no more.
. "$(dirname "$0")/lib.sh"
need python3
net_up
VA4=192.168.77.1 VB4=192.168.77.2 VA6=fd77::1 VB6=fd77::2
ip -n "${NS}b" link add vx type vxlan id 42 dstport 4789 local "$B4" remote "$A4" dev "$DEV_B" || skip "no VXLAN devices"
ip -n "${NS}b" addr add $VB4/24 dev vx && ip -n "${NS}b" addr add $VB6/64 dev vx nodad && ip -n "${NS}b" link set vx up
mac() { ip -n "${NS}b" -j link show "$1" | sed 's/.*"address":"\([^"]*\)".*/\1/'; }
MAC_B=$(mac "$DEV_B") MAC_V=$(mac vx)
run() { # file for what is delivered; in: how many datagrams the kernel took
	local receiver
	bg pb python3 "$TESTS/net/hostile_vxlan.py" receive $VB4 $VB6 >"$TMP/got"
	receiver=$BG
	wait_line "$TMP/got" ready
	in=$(udp_stat b InDatagrams)
	a python3 "$TESTS/net/hostile_vxlan.py" send "$DEV_A" "$MAC_B" "$A4" "$B4" "$A6" "$B6" "$MAC_V" $VA4 $VB4 $VA6 $VB6
	wait_end "$receiver"
	same "the receiver came to its end" 0 $?
	in=$(($(udp_stat b InDatagrams) - in))
	grep -v "^ready" "$TMP/got" | sort -u >"$1"
}
MODE=kernel
run "$TMP/kernel"
all=$in
ok "$(wc -l <"$TMP/kernel") packets have an effect by the kernel" test "$(wc -l <"$TMP/kernel")" -gt 90
MODE=one
run "$TMP/one"
ok "$((all - in)) datagrams past the kernel" test $((all - in)) -gt 150
ok "taken out below" logged "vx: taken out of VXLAN on $DEV_B"
diff "$TMP/kernel" "$TMP/one" >"$TMP/diff"
ok "nothing else has an effect here" not grep -q "^>" "$TMP/diff"
ok "nothing is missing" not grep -q "^<" "$TMP/diff"
head -n "${SHOW:-60}" "$TMP/diff"
done_testing
