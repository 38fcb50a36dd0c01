#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VLAN devices: with one tag and with two, beside other VLANs with the same addresses, when the
# device goes down and away, and when it becomes one that only the kernel can serve.
#
# Any other test runs on VLAN devices with VLANS set: VLANS=5 tests/run.sh tests/net/tcp_stream.sh
. "$(dirname "$0")/lib.sh"
need python3 socat
VLANS=${VLANS:-5}
net_up
VID=${VLANS##* }
mapfile -t LONG_MAP < <(seq -f %g:1 10 42)
text() { a socat -u - "UDP4:$B4:7000" <<<"$1"; }
text6() { a socat -u - "UDP6:[$B6]:7000" <<<"$1"; }
comes() { # word: sends it until it comes
	text "$1"
	sleep 0.05
	grep -q "$1" "$out"
}
begin() { # starts the program, which has the device where the mode says so
	bg pb python3 "$TESTS/net/vlan.py" 7000 7001 >"$out"
	subject=$BG
	wait_line "$out" ready
	[ "$MODE" = kernel ] || wait_until 10 logged "$DEV_B"
}
past_kernel() { # what, word
	[ "$MODE" != kernel ] || return 0
	K_IN=$(udp_stat b InDatagrams)
	ok "$1" wait_until 10 comes "$2"
	same "$1: past the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
}
# Gives the device its addresses again after it was down or removed.
addresses() {
	ip -n "${NS}b" addr replace "$B4/24" dev "$DEV_B"
	ip -n "${NS}b" addr replace "$B6/64" dev "$DEV_B" nodad
	ip -n "${NS}b" link set "$DEV_B" up
}
away() {
	ip -n "${NS}b" link del "$DEV_B"
	vlan_up b "${DEV_B%.*}" "$VID"
	addresses
}
kernel_has() { [ -n "$(b ss -Htn state established "sport = :7001")" ]; }
line() { # sends a line over the existing connection
	echo "$1" >&9
	ok "TCP: $2" wait_line "$out" "$1"
}
MAC=$(b ip -o link show "$LOW_B" | sed "s/.*ether //; s/ .*//")
for MODE in $MODES; do
	case $MODE:$MODES in both:*one*) continue ;; esac # the peer is the kernel's in any mode
	out=$TMP/out.$MODE
	rm -f "$TMP/fifo"
	vlan_qos b "$DEV_B" "${LONG_MAP[@]/%:1/:0}"
	addresses
	begin
	if [ "$MODE" != kernel ]; then
		ok "the VLAN device is offloaded" logged "$DEV_B: offloaded by .*, VLAN ${VID%ad}"
		[ -n "${STAND_IN:-}" ] || b "$BUILD/sluice" doctor "$DEV_B" >"$TMP/doctor"
		[ -n "${STAND_IN:-}" ] ||
			ok "the doctor says so, too" file_has "$TMP/doctor" "can be offloaded by $LOW_B"
	fi

	# In another VLAN the same address belongs to another host; without a VLAN it is ours again.
	offload_begin
	text mine
	text6 mine6
	for vid in 6 0; do
		dev=$LOW_A
		if [ $vid != 0 ]; then
			dev=$LOW_A.$vid
			vlan_up a "$LOW_A" $vid
			a ip link set "$dev" up
		fi
		a ip neigh replace "$B4" lladdr "$MAC" dev "$dev"
		a ip route add "$B4/32" dev "$dev" src "$A4"
		text "other$vid"
		a ip route del "$B4/32" dev "$dev"
		a ip neigh del "$B4" dev "$dev"
		[ $vid = 0 ] || a ip link del "$dev"
	done
	text end
	ok "all that is ours has come" wait_line "$out" end
	same "in another VLAN the address is another host's" "ready mine mine6 other0 end" \
		"$(tr '\n' ' ' <"$out" | sed 's/ $//')"
	[ "$MODE" = kernel ] || same "past the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))

	mkfifo "$TMP/fifo"
	bg a socat -u "OPEN:$TMP/fifo" "TCP4:$B4:7001"
	client=$BG
	exec 9>"$TMP/fifo"
	line first "a connection"
	[ "$MODE" = kernel ] || ok "TCP: not the kernel's" not kernel_has

	ip -n "${NS}b" link set "$DEV_B" down
	echo down >&9
	sleep 0.3
	addresses
	ok "down and up" wait_until 10 comes up
	line again "down and up"
	past_kernel "after that" after

	away
	ok "deleted and made anew" wait_until 10 comes new
	line anew "deleted and made anew"
	past_kernel "and then" then

	# A map of priorities with too many entries, set while it runs: the kernel applies it.
	vlan_qos b "$DEV_B" "${LONG_MAP[@]}"
	ok "with a map of priorities it goes on" wait_until 10 comes qos
	line mapped "with a map of priorities"
	if [ "$MODE" != kernel ]; then
		ok "which is said" wait_until 10 logged "$DEV_B goes on through the kernel: its egress-qos-map"
		ok "TCP: the kernel has it" wait_until 10 kernel_has
		K_IN=$(udp_stat b InDatagrams)
		ok "by the kernel" wait_until 10 comes kernels
		ok "by the kernel indeed" test $(($(udp_stat b InDatagrams) - K_IN)) -ge 1
	fi
	line last "to the end"
	exec 9>&-
	wait_end "$client"
	stop "$subject"

	# A program that begins then.
	rm -f "$TMP"/sluice.*.log
	begin
	text late
	ok "it is the kernel's from the start" wait_line "$out" late
	[ "$MODE" = kernel ] ||
		ok "and that is said" logged "$DEV_B stays with the kernel: its egress-qos-map has more than 32 entries"
	stop "$subject"
done
done_testing
