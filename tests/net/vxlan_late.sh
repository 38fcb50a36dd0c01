#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A VXLAN device that comes after the device below was opened: the steering program is replaced by the form that takes packets out
# of VXLAN, and of the packets that come meanwhile none is lost, and none goes to the kernel.
. "$(dirname "$0")/lib.sh"
need python3 bpftool
net_up
VX_A=192.168.77.1 VX_B=192.168.77.2
ip link add "late$$" type vxlan id 9 dstport 4789 2>"$TMP/err" && ip link del "late$$" || skip "no VXLAN devices"
opened() { logged "$1: taken out of VXLAN on $DEV_B"; }
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
programs() { # numbers of the steering programs on the device: one
	bpftool -j prog show | python3 -c '
import json, sys
print(*[p["id"] for p in json.load(sys.stdin) if p.get("name") in ("steer", "steer_skb") and sys.argv[1] in str(p.get("map_ids"))])' \
		"$(bpftool -j map show pinned "/sys/fs/bpf/sluice/$DEV_B/endpoints" | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')"
}
# (The kernel counts each outer packet that comes before the device below opens them: host a says nothing by itself.)
a sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
for MODE in $MODES; do
	case $MODE:$MODES in kernel:* | both:*one*) continue ;; esac
	rm -f "$TMP"/sluice.*.log
	bg pb python3 "$TESTS/net/echo_both.py" 0.0.0.0 7000 >"$TMP/out"
	server=$BG
	wait_line "$TMP/out" ready
	a python3 "$TESTS/net/vxlan_native.py" udp "$B4" 7000 20 >/dev/null
	old=$(programs)
	offload_begin
	bg a python3 "$TESTS/net/vxlan_late.py" "$B4" 7000 >"$TMP/numbered"
	numbered=$BG
	wait_until 10 has_lines "$TMP/numbered" 3
	vxlan_up a vx 42 "$A4" "$B4" "$DEV_A" $VX_A && vxlan_up b vx 42 "$B4" "$A4" "$DEV_B" $VX_B
	ok "the device below opens its packets" wait_until 10 opened vx
	n=$(wc -l <"$TMP/numbered")
	wait_until 10 has_lines "$TMP/numbered" $((n + 3))
	kill -INT "$numbered"
	wait "$numbered"
	same "of the datagrams meanwhile" "none is lost" "$(tail -n 1 "$TMP/numbered")"
	same "to the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
	new=$(programs)
	ok "another program has come ($old, $new)" test "$old" != "$new"
	same "programs" 1 "$(wc -w <<<"$new")"
	a python3 "$TESTS/net/vxlan_native.py" udp $VX_B 7000 20 >/dev/null
	before=$(udp_stat b InDatagrams)
	same "datagrams, echoed whole" "200 of 200" "$(a python3 "$TESTS/net/vxlan_native.py" udp $VX_B 7000 200)"
	ok "past the kernel" test $(($(udp_stat b InDatagrams) - before)) -lt 20
	same "a stream, echoed whole" "300000 of 300000" "$(a python3 "$TESTS/net/vxlan_native.py" tcp $VX_B 7000 300000)"
	# The next one needs no other program.
	vxlan_up a two 43 "$A4" "$B4" "$DEV_A" 192.168.78.1 && vxlan_up b two 43 "$B4" "$A4" "$DEV_B" 192.168.78.2
	ok "a second one" wait_until 10 opened two
	same "it has the same program" "$new" "$(programs)"
	stop "$server"
	ok "nothing stays behind" wait_until 10 not test -e "/sys/fs/bpf/sluice/$DEV_B"
	for h in a b; do for d in vx two; do ip -n "$NS$h" link del $d; done; done
done
done_testing
