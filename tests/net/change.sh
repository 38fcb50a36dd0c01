#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The network changes under traffic: neighbour, route, address, link, MTU. Traffic goes on after each change.
. "$(dirname "$0")/lib.sh"
net_up -c
FAR=192.0.2.1 FAR6=fd00:192::1
ip -n "${NS}a" addr add $FAR/32 dev lo
ip -n "${NS}c" addr add $FAR/32 dev lo
ip -n "${NS}a" addr add $FAR6/128 dev lo nodad
ip -n "${NS}c" addr add $FAR6/128 dev lo nodad
c ip route add "$NET4.0/24" via "$B4C"
c ip -6 route add "$NET6::/64" via "$B6C"

# Asserts that traffic goes on: 100 more answers come in time (the interval is 2 ms).
goes_on() { # what
	local f
	for f in near far near6 far6; do
		count_of "$TMP/steady.$f"
		ok "$1: $f" wait_until 15 grows "$TMP/steady.$f" $((COUNT + 100))
	done
}
# Asserts that no more answers come.
pauses() { # what, which
	local n
	sleep 0.3
	count_of "$TMP/steady.$2"
	n=$COUNT
	sleep 0.3
	count_of "$TMP/steady.$2"
	ok "$1: $2 pauses" test $((COUNT - n)) -le 2
}
mac_of() { ip -n "$NS$1" -j link show "$2" | sed 's/.*"address":"\([^"]*\)".*/\1/'; }

for MODE in $MODES; do
	ip -n "${NS}b" route replace $FAR/32 via "$A4"
	ip -n "${NS}b" -6 route replace $FAR6/128 via "$A6"
	rm -f "$TMP"/steady.*
	bg pa "$BIN/echo" 0.0.0.0 7000
	echo4=$BG
	bg pa "$BIN/echo" :: 7001
	echo6=$BG
	bg c "$BIN/echo" "$FAR" 7000
	echoc4=$BG
	bg c "$BIN/echo" "$FAR6" 7001
	echoc6=$BG
	wait_udp a 7000 && wait_udp a 7001 && wait_udp c 7000 && wait_udp c 7001
	bg pb "$BIN/steady" "$A4" 7000 "$TMP/steady.near" "$A6" 7001 "$TMP/steady.near6" \
		"$FAR" 7000 "$TMP/steady.far" "$FAR6" 7001 "$TMP/steady.far6"
	client=$BG
	for f in near far near6 far6; do wait_until 10 test -s "$TMP/steady.$f" || die "$f does not start"; done
	offload_begin
	goes_on "before all"
	offload_end 400

	old=$(mac_of a "$DEV_A")
	new=02:00:00:00:00:0${#MODE}
	ip -n "${NS}a" link set "$DEV_A" address $new
	ip -n "${NS}b" neigh replace "$A4" lladdr $new nud reachable dev "$DEV_B"
	ip -n "${NS}b" neigh replace "$A6" lladdr $new nud reachable dev "$DEV_B"
	goes_on "the peer's link address changed"
	ip -n "${NS}a" link set "$DEV_A" address "$old"
	ip -n "${NS}b" neigh flush dev "$DEV_B"
	goes_on "changed back, neighbours forgotten"

	old=$(mac_of b "$DEV_B")
	ip -n "${NS}b" link set "$DEV_B" address 02:00:00:00:00:1${#MODE}
	ip -n "${NS}a" neigh flush dev "$DEV_A"
	goes_on "our link address changed"
	ip -n "${NS}b" link set "$DEV_B" address "$old"
	ip -n "${NS}a" neigh flush dev "$DEV_A"
	goes_on "our link address changed back"

	ip -n "${NS}b" route replace blackhole $FAR/32
	ip -n "${NS}b" -6 route del $FAR6/128
	ip -n "${NS}b" -6 route add blackhole $FAR6/128
	pauses "no route" far
	pauses "no route" far6
	ip -n "${NS}b" route replace $FAR/32 via "$C4"
	ip -n "${NS}b" -6 route del blackhole $FAR6/128
	ip -n "${NS}b" -6 route add $FAR6/128 via "$C6"
	before=$(udp_stat c OutDatagrams)
	goes_on "routed by way of c"
	ok "c is who answers" test $(($(udp_stat c OutDatagrams) - before)) -ge 150
	ip -n "${NS}b" route replace $FAR/32 via "$A4"
	ip -n "${NS}b" -6 route replace $FAR6/128 via "$A6"
	goes_on "routed by way of a again"

	ip -n "${NS}b" link set "$DEV_B" mtu 1300
	goes_on "a smaller MTU"
	ip -n "${NS}b" link set "$DEV_B" mtu 1500
	goes_on "the MTU of before"

	ip -n "${NS}b" addr add "$NET4.77/24" dev "$DEV_B"
	ip -n "${NS}b" addr del "$NET4.77/24" dev "$DEV_B"
	goes_on "an address came and went"

	ip -n "${NS}b" link set "$DEV_B" down
	pauses "link down" near
	ip -n "${NS}b" link set "$DEV_B" up
	ip -n "${NS}b" addr replace "$B6/64" dev "$DEV_B" nodad
	ip -n "${NS}b" route replace $FAR/32 via "$A4"
	ip -n "${NS}b" -6 route replace $FAR6/128 via "$A6"
	goes_on "link up again"
	ip -n "${NS}a" link set "$DEV_A" down
	pauses "the peer's link down" near
	ip -n "${NS}a" link set "$DEV_A" up
	ip -n "${NS}a" addr replace "$A6/64" dev "$DEV_A" nodad
	goes_on "the peer's link up again"

	stop "$client" "$echo4" "$echo6"
	for f in near far near6 far6; do
		read -r _ _ doubled wrong _ <"$TMP/steady.$f"
		same "$f: none doubled, none wrong" "0 0" "$doubled $wrong"
	done
	stop "$echoc4" "$echoc6"
done
done_testing
