#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VXLAN devices: what programs receive over them is taken out of VXLAN on the device below, by its XDP program or by the tc
# program in front of packet sockets; all else that comes there goes to the kernel.
. "$(dirname "$0")/lib.sh"
need python3 bpftool bridge
net_up
VX_A=192.168.77.1 VX_B=192.168.77.2
follows() { # rp_filter: is it what `vxlans` has?
	bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/vxlans" 2>/dev/null | python3 -c '
import json, sys
e = json.load(sys.stdin)
sys.exit([x["formatted"]["value"]["flags"] & 3 for x in e] != [int(sys.argv[1])])' "$1"
}
bound() { # number, host: so many stations has `stations`, all behind that host
	bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/stations" 2>/dev/null | python3 -c '
import ipaddress, json, sys
e = [ipaddress.ip_address(bytes(x["formatted"]["value"]["remote"][12:])) for x in json.load(sys.stdin)]
want = [ipaddress.ip_address(a) for a in sys.argv[2:]] or e[:1]
sys.exit(len(e) != int(sys.argv[1]) or any(x != want[0] for x in e))' "$@"
}
taken() { # packets and bytes that the steering program has sent to lanes
	bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/counters" 2>/dev/null | python3 -c '
import json, sys
v = [c["value"] for x in json.load(sys.stdin) for c in x["formatted"]["values"]]
print(sum(sum(n for k, n in c.items() if k.startswith("redirect_") and k != "redirect_bytes") for c in v),
      sum(c["redirect_bytes"] for c in v))'
}
udp6_in() { b awk '$1 == "Udp6InDatagrams" { print $2 }' /proc/net/snmp6; }
vxlan_up a vx 42 "$A4" "$B4" "$DEV_A" $VX_A && vxlan_up b vx 42 "$B4" "$A4" "$DEV_B" $VX_B || skip "no VXLAN devices"
vxlan_up a other 43 "$A4" "$B4" "$DEV_A" 192.168.78.1
vxlan_up b other 43 "$B4" "$A4" "$DEV_B" 192.168.78.2
vxlan_up a six 44 "$A6" "$B6" "$DEV_A" 192.168.79.1
vxlan_up b six 44 "$B6" "$A6" "$DEV_B" 192.168.79.2
for MODE in $MODES; do
	case $MODE:$MODES in both:*one*) continue ;; esac
	rm -f "$TMP"/sluice.*.log
	bg pb python3 "$TESTS/net/echo_both.py" $VX_B 7000 >"$TMP/out.$MODE"
	server=$BG
	wait_line "$TMP/out.$MODE" ready
	if [ "$MODE" != kernel ]; then
		ok "the device below opens its packets" wait_until 10 logged "vx: taken out of VXLAN on $DEV_B"
		a python3 "$TESTS/net/vxlan_native.py" udp $VX_B 7000 20 >/dev/null
	fi
	before=$(udp_stat b InDatagrams)
	same "datagrams, echoed whole" "200 of 200" "$(a python3 "$TESTS/net/vxlan_native.py" udp $VX_B 7000 200)"
	# (The kernel counts each outer packet that it opens, too.)
	[ "$MODE" = kernel ] || ok "past the kernel" test $(($(udp_stat b InDatagrams) - before)) -lt 20
	[ "$MODE" = kernel ] || read -r n0 bytes0 <<<"$(taken)"
	same "a stream, echoed whole" "300000 of 300000" \
		"$(a python3 "$TESTS/net/vxlan_native.py" tcp $VX_B 7000 300000)"
	# (Its 15 parts of 20,000 bytes, and acknowledgments. XDP gets at least 14 segments for each.)
	if [ "$MODE" != kernel ]; then
		read -r n bytes <<<"$(taken)"
		# (By rules of the NIC there is no program that counts.)
		[ "${RX:-}" = verbs ] || ok "what the program has taken is counted" test $((bytes - bytes0)) -gt 300000
		[ "${RX:-xdp}" = xdp ] || ! kernel_is 6.6 || ok "the peer's segments come whole" test $((n - n0)) -lt 150
	fi
	[ "$MODE" = kernel ] || ok "what leaves is wrapped natively" logged "vx: wrapped here, to leave by $DEV_B"
	stop "$server"
	# Beside it: another port, and another VNI, which the kernel has.
	bg b python3 "$TESTS/net/echo_both.py" 192.168.78.2 7001 >"$TMP/kernels.$MODE"
	kernels=$BG
	wait_line "$TMP/kernels.$MODE" ready
	bg pb python3 "$TESTS/net/echo_both.py" $VX_B 7000 >"$TMP/out2.$MODE"
	server=$BG
	wait_line "$TMP/out2.$MODE" ready
	same "another VNI goes to the kernel" "50 of 50" \
		"$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.78.2 7001 50)"
	[ "$MODE" = kernel ] || for n in 1 2 0; do
		b sh -c "echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter; echo $n >/proc/sys/net/ipv4/conf/$DEV_B/rp_filter"
		ok "rp_filter $n is followed" wait_until 5 follows $n
	done
	stop "$server" "$kernels"
	# (Inside are checksums that a sender on the same machine has left to a NIC.)
	bg pb python3 "$TESTS/net/echo_both.py" 192.168.79.2 7002 >"$TMP/out3.$MODE"
	server=$BG
	wait_line "$TMP/out3.$MODE" ready
	if [ "$MODE" != kernel ]; then
		ok "IPv6 outside: opened below, too" wait_until 5 logged "six: taken out of VXLAN on $DEV_B"
		a python3 "$TESTS/net/vxlan_native.py" udp 192.168.79.2 7002 20 >/dev/null
	fi
	before=$(($(udp6_in) + $(udp_stat b InDatagrams)))
	same "IPv6 outside: datagrams" "50 of 50" "$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.79.2 7002 50)"
	[ "$MODE" = kernel ] || ok "past the kernel, outside and inside" \
		test $(($(udp6_in) + $(udp_stat b InDatagrams) - before)) -lt 20
	same "a stream" "50000 of 50000" "$(a python3 "$TESTS/net/vxlan_native.py" tcp 192.168.79.2 7002 50000)"
	stop "$server"
	# A permanent entry of the fdb binds a station to its host, where the device learns: one that is there before, and
	# one that comes while packets are taken out below. All others go on below, and so does that station by its host.
	mac=$(ip -n "${NS}a" -j link show other | sed 's/.*"address":"\([^"]*\)".*/\1/')
	for when in before after; do
		rm -f "$TMP"/sluice.*.log
		[ $when = after ] || b bridge fdb replace "$mac" dev other dst 192.0.2.9
		bg pb python3 "$TESTS/net/echo_both.py" 192.168.78.2 7003 >"$TMP/out4.$MODE"
		server=$BG
		wait_line "$TMP/out4.$MODE" ready
		[ "$MODE" = kernel ] || ok "taken out below, $when" wait_until 5 logged "other: taken out of VXLAN on $DEV_B"
		if [ $when = after ]; then
			same "a station without an entry" "20 of 20" \
				"$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.78.2 7003 20)"
			b bridge fdb replace "$mac" dev other dst 192.0.2.9
			[ "$MODE" = kernel ] || ok "the entry is followed" wait_until 5 bound 1
		fi
		same "a station by another host than its entry's, $when" "0 of 1" \
			"$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.78.2 7003 1)"
		b bridge fdb replace "$mac" dev other dst "$A4"
		[ "$MODE" = kernel ] || ok "its new host is followed, $when" wait_until 5 bound 1 "$A4"
		before=$(udp_stat b InDatagrams)
		same "by its entry's host, $when" "50 of 50" \
			"$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.78.2 7003 50)"
		[ "$MODE" = kernel ] || ok "past the kernel, $when" test $(($(udp_stat b InDatagrams) - before)) -lt 20
		b bridge fdb del "$mac" dev other
		[ "$MODE" = kernel ] || ok "that it is gone is followed, $when" wait_until 5 bound 0
		same "its entry is gone, $when" "20 of 20" \
			"$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.78.2 7003 20)"
		stop "$server"
	done
	# More of them than the steering program is to have.
	rm -f "$TMP"/sluice.*.log
	for i in $(seq 0 256); do
		printf 'fdb add 02:77:00:00:%02x:%02x dev other dst 192.0.2.9\n' $((i / 256)) $((i % 256))
	done >"$TMP/many"
	b bridge -batch "$TMP/many"
	bg pb python3 "$TESTS/net/echo_both.py" 192.168.78.2 7004 >"$TMP/out5.$MODE"
	server=$BG
	wait_line "$TMP/out5.$MODE" ready
	[ "$MODE" = kernel ] || ok "the log says that entries are too many" \
		wait_until 5 logged "other: not taken out.*more than 256 permanent entries"
	same "the device receives by itself" "20 of 20" \
		"$(a python3 "$TESTS/net/vxlan_native.py" udp 192.168.78.2 7004 20)"
	stop "$server"
	sed 's/^fdb add/fdb del/' "$TMP/many" >"$TMP/few"
	b bridge -batch "$TMP/few"
done
done_testing
