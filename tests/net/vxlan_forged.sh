#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A peer that makes VXLAN packets by itself, good ones and forged ones, alone and in rows that the kernel has not cut yet: a
# program gets the good ones, by the kernel and natively.
. "$(dirname "$0")/lib.sh"
need python3 ethtool
net_up
PY=$TESTS/net/vxlan_forged.py
VA=192.168.77.1 VB=192.168.77.2
ip -n "${NS}a" link add vx type vxlan id 42 dstport 4789 local "$A4" remote "$B4" dev "$DEV_A" &&
	ip -n "${NS}b" link add vx type vxlan id 42 dstport 4789 local "$B4" remote "$A4" dev "$DEV_B" || skip "no VXLAN devices"
for h in a b; do
	ip -n "$NS$h" addr add "$([ $h = a ] && echo $VA || echo $VB)/24" dev vx && ip -n "$NS$h" link set vx up
done
mac=$(ip -n "${NS}b" -j link show vx | sed 's/.*"address":"\([^"]*\)".*/\1/')
sent_all="end first $(echo good{0..7}) long:1305 $(echo row{0..5}:405) sums0:406 sums2:406 sums4:406"
declare -A KERNELS=()
for MODE in $MODES; do
	case $MODE:$MODES in both:*one*) continue ;; esac
	# The peer's outer checksums are left to the device, with rows whole, or all are made.
	for tx in on off; do
		rm -f "$TMP"/sluice.*.log
		a ethtool -K "$DEV_A" tx $tx >"$TMP/ethtool"
		bg pb python3 "$PY" take $VB 7000 >"$TMP/got"
		server=$BG
		wait_line "$TMP/got" ready
		[ "$MODE" = kernel ] || ok "taken out below" wait_until 5 logged "vx: taken out of VXLAN on $DEV_B"
		before=$(udp_stat b InDatagrams)
		a python3 "$PY" forge "$B4" "$mac" $VA $VB 7000
		wait "$server"
		n=$(($(udp_stat b InDatagrams) - before))
		same "tx $tx: the good ones and no other" "$sent_all" "$(grep -v ready "$TMP/got")"
		if [ "$MODE" = kernel ]; then
			KERNELS[$tx]=$n
		elif [ $tx = off ]; then
			ok "tx $tx: most of them past the kernel" test $n -lt $((KERNELS[$tx] * 3 / 4))
		fi
	done
done
done_testing
