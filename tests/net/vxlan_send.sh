#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A frame that leaves by a VXLAN device is wrapped as by the kernel's device, whatever its parameters, and follows their changes and
# those of the fdb; the kernel's device sends what only it can.
. "$(dirname "$0")/lib.sh"
need python3 bridge ethtool
net_up
PY=$TESTS/net/vxlan_send.py
VA=192.168.77.1 VB=192.168.77.2 V6A=fd77::1 V6B=fd77::2
A4B=${A4%.*}.77 # another address of host a
A6B=${A6%::*}::77
ip -n "${NS}a" addr add "$A4B/24" dev "$DEV_A"
ip -n "${NS}a" addr add "$A6B/64" dev "$DEV_A" nodad
bg a python3 "$TESTS/net/echo_both.py" :: 7000 >"$TMP/echo"
wait_line "$TMP/echo" ready
declare -A KERNELS=()

vxlan() { # outer family, options of b's device: makes both anew
	local l=$A4 r=$B4 v=$1 mac
	[ "$v" = 4 ] || l=$A6 r=$B6
	shift
	ip -n "${NS}a" link del vx 2>"$TMP/err"
	ip -n "${NS}b" link del vx 2>"$TMP/err"
	# (Host a takes outer packets to any of its addresses, and without a checksum.)
	ip -n "${NS}a" link add vx address 02:00:00:00:77:01 type vxlan id 42 dstport 4789 \
		local "$([ "$v" = 4 ] && echo 0.0.0.0 || echo ::)" remote "$r" dev "$DEV_A" udp6zerocsumrx &&
		ip -n "${NS}b" link add vx address 02:00:00:00:77:02 type vxlan id 42 dstport 4789 \
			local "$r" remote "$l" dev "$DEV_B" "$@" || return 1
	for h in a b; do
		ip -n "$NS$h" addr add "$([ $h = a ] && echo $VA || echo $VB)/24" dev vx
		ip -n "$NS$h" addr add "$([ $h = a ] && echo $V6A || echo $V6B)/64" dev vx nodad
		ip -n "$NS$h" link set vx up
	done
	b ethtool -K vx tx off >"$TMP/ethtool"
	mac=02:00:00:00:77:01
	ip -n "${NS}b" neigh replace $VA lladdr $mac dev vx
	ip -n "${NS}b" neigh replace $V6A lladdr $mac dev vx
	ip -n "${NS}a" neigh replace $VB lladdr 02:00:00:00:77:02 dev vx
	ip -n "${NS}a" neigh replace $V6B lladdr 02:00:00:00:77:02 dev vx
}
subject() { # starts it
	mkfifo "$TMP/do.$1"
	exec 9<>"$TMP/do.$1"
	bg pb python3 "$PY" serve vx <"$TMP/do.$1" >"$TMP/said"
	SUBJECT=$BG
	wait_line "$TMP/said" ready
}
over() {
	echo end >&9
	exec 9>&-
	wait "$SUBJECT"
}
lines() { [ "$(wc -l <"$TMP/said")" -ge "$1" ]; }
tell() { # command: its answer is in SAID
	local n
	n=$(wc -l <"$TMP/said")
	echo "$1" >&9
	wait_until 20 lines $((n + 1))
	SAID=$(tail -n 1 "$TMP/said")
}
LOW=32768 HIGH=60999
wrapped() { # name, to, tos, size, who is to send ("native", "kernel")
	local out=$TMP/sniffed n=10 by
	: >"$out"
	bg a python3 "$PY" sniff "$DEV_A" $n $LOW $HIGH >"$out"
	wait_line "$out" ready
	tell "send $2 7000 $n $3 $4"
	wait "$BG"
	by=${SAID##* }
	out=$(grep -v ready "$out")
	if [ "$MODE" = kernel ]; then
		KERNELS[$1]="${SAID% kernel*} $out"
		ok "$1: the kernel's device sends" test "$by" -ge $n
		ok "$1: all are seen" test "${out%%$'\n'*}" = "seen $n"
		return
	fi
	same "$1: as the kernel's" "${KERNELS[$1]}" "${SAID% kernel*} $out"
	case $5 in
	native) ok "$1: natively" test "$by" -lt 3 ;;
	*) ok "$1: by the kernel's device" test "$by" -ge $n ;;
	esac
}
again() { # name, family, options: with the device made anew
	local name=$1
	shift
	vxlan "$@" || return 1
	subject "$name"
}

for MODE in $MODES; do
	case $MODE:$MODES in both:*one*) continue ;; esac
	rm -f "$TMP"/do.*
	vxlan 4 nolearning || skip "no VXLAN devices"
	subject 1
	wrapped plain $VA 0 200 native
	wrapped marks $VA 0xb9 200 native
	wrapped odd $VA 0 201 native
	wrapped v6-inside $V6A 0x2 200 native
	tell "tcp $VA 7000 200704"
	[ "$MODE" = kernel ] || ok "a stream: natively" test "${SAID##* }" -lt 5
	same "a stream" "sent 200704 back whole" "${SAID% kernel*}"
	# The fdb is followed: another host, back, several, and one.
	b bridge fdb replace 02:00:00:00:77:01 dev vx dst "$A4B"
	wrapped fdb $VA 0 200 native
	b bridge fdb del 02:00:00:00:77:01 dev vx
	wrapped fdb-gone $VA 0 200 native
	b bridge fdb append 00:00:00:00:00:00 dev vx dst "$A4B"
	wrapped fdb-two $VA 0 200 kernel
	b bridge fdb del 00:00:00:00:00:00 dev vx dst "$A4B"
	wrapped fdb-one $VA 0 200 native
	# So is the outer neighbour, and the device.
	mac=$(ip -n "${NS}a" -j link show "$DEV_A" | sed 's/.*"address":"\([^"]*\)".*/\1/')
	ip -n "${NS}b" neigh replace "$A4" lladdr 02:00:00:00:99:99 dev "$DEV_B"
	wrapped neighbour $VA 0 200 native
	ip -n "${NS}b" neigh replace "$A4" lladdr "$mac" dev "$DEV_B"
	wrapped neighbour-back $VA 0 200 native
	ip -n "${NS}b" link set vx type vxlan id 42 ttl 9
	wrapped ttl $VA 0 200 native
	# Packets longer than the path are the kernel's, which cuts them.
	ip -n "${NS}b" route add "$A4/32" dev "$DEV_B" src "$B4" mtu 1300
	tell "send $VA 7000 10 0 1380"
	same "longer than the path" "sent 10 back 10" "${SAID% kernel*}"
	ok "longer than the path: by the kernel's device" test "${SAID##* }" -ge 10
	ip -n "${NS}b" route del "$A4/32" dev "$DEV_B"
	wrapped path-back $VA 0 1380 native
	# A new device of that name.
	vxlan 4 nolearning ttl 11
	wrapped remade $VA 0 200 native
	over
	again 2 4 tos 0x48 ttl 7 df set noudpcsum srcport 40000 40100
	LOW=40000 HIGH=40100
	wrapped parameters $VA 0x3 200 native
	LOW=32768 HIGH=60999
	over
	again 3 4 tos inherit ttl inherit df inherit
	wrapped inherit $VA 0x28 200 native
	wrapped inherit6 $V6A 0x6a 200 native
	over
	again 4 6 nolearning
	wrapped six $VA 0 200 native
	wrapped six-odd $V6A 0x6b 201 native
	b bridge fdb replace 02:00:00:00:77:01 dev vx dst "$A6B"
	wrapped six-fdb $VA 0 200 native
	over
	again 5 6 nolearning tos inherit ttl 9 udp6zerocsumtx flowlabel 0xabcde
	wrapped six-parameters $VA 0x28 200 native
	over
	# Where the VXLAN device segments, segments in a row (of 139 here) go to it at once; others go natively.
	vxlan 4 nolearning
	b ethtool -K vx tx on >"$TMP/ethtool"
	subject 6
	tell "tcp $VA 7000 200704"
	[ "$MODE" = kernel ] || [ -n "${LEASED:-}" ] || ok "a stream: segments in a row at once" test "${SAID##* }" -lt 70
	[ "$MODE" = kernel ] || [ -n "${LEASED:-}" ] || ok "by the kernel's device" test "${SAID##* }" -ge 5
	same "that stream" "sent 200704 back whole" "${SAID% kernel*}"
	tell "send $VA 7000 10 0 200"
	[ "$MODE" = kernel ] || ok "datagrams: natively" test "${SAID##* }" -lt 3
	same "datagrams" "sent 10 back 10" "${SAID% kernel*}"
	over
done
done_testing
