#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames that no host should send, by a packet socket: sources and destinations that no wire may have, with each setting
# of the kernel that has a say; each field of the headers with odd values; then random bytes in the headers. What an
# offloaded program is given must be a subset of what the kernel gives to the same program. SEED repeats a random run.
. "$(dirname "$0")/lib.sh"
net_up -c -t
need python3
SEED=${SEED:-$RANDOM}
say "seed $SEED"
MAC_B=$(ip -n "${NS}b" -j link show "$DEV_B" | sed 's/.*"address":"\([^"]*\)".*/\1/')
OWN4=$NET4.200 OWN6=$NET6::200
addr_up b lo $OWN4/32 $OWN6/128
b sysctl -qw net.core.somaxconn=8192 net.ipv4.tcp_max_syn_backlog=16384 \
	net.ipv4.tcp_syncookies=0
# (Frames that c's hosts send must not come by a's device; the rest of the world is behind a.)
ip -n "${NS}b" route add 203.0.113.0/24 via "$C4" dev "$DEV_BC"
ip -n "${NS}b" route add default via "$A4" dev "$DEV_B"
ip -n "${NS}b" -6 route add default via "$A6" dev "$DEV_B"
for how in "$A4" "$A6"; do # (neighbours are known: no answer waits for one)
	ip -n "${NS}b" neigh replace "$how" lladdr "$(ip -n "${NS}a" -j link show "$DEV_A" | sed 's/.*"address":"\([^"]*\)".*/\1/')" \
		dev "$DEV_B" nud permanent
done

settings() { # rp_filter accept_local route_localnet drop_unicast_in_l2_multicast
	b sysctl -qw "net.ipv4.conf.$DEV_B.rp_filter=$1" "net.ipv4.conf.all.rp_filter=0" "net.ipv4.conf.$DEV_B.accept_local=$2" \
		"net.ipv4.conf.$DEV_B.route_localnet=$3" "net.ipv4.conf.$DEV_B.drop_unicast_in_l2_multicast=$4" \
		"net.ipv6.conf.$DEV_B.drop_unicast_in_l2_multicast=$4"
}
send() { a python3 "$TESTS/net/martian.py" send "$DEV_A" "$MAC_B" "$A4" "$B4" "$OWN4" "$A6" "$B6" "$OWN6" "$@" >>"$TMP/ports"; }
run() { # file for what is delivered
	local s
	bg pb python3 "$TESTS/net/martian.py" receive "$DEV_B" "$B4" "$B6" >"$TMP/got"
	wait_line "$TMP/got" ready
	bg a python3 "$TESTS/net/martian.py" answers "$DEV_A" >"$TMP/answers"
	ANSWERS=$BG
	wait_line "$TMP/answers" ready
	for s in "0 0 0 0" "1 0 0 0" "2 0 0 1" "1 1 0 0" "0 0 1 0"; do
		settings $s
		nap 200
		# (A change of accept_local makes no event: an earlier answer holds for a second.)
		case $MODE:$s in one:1\ 1* | one:0\ 0\ 1*) nap 1000 ;; esac
		send ends "${s// /}"
	done
	offload_begin
	send plain 200
	nap 300
	[ "$MODE" = kernel ] || ok "ordinary datagrams come by the bypass" test $(($(udp_stat b InDatagrams) - K_IN)) -lt 20
	send fields 0
	send random "$SEED"
	send end 0
	wait_line "$TMP/got" "^end"
	nap 300
	stop "$ANSWERS"
	awk '$1 == "port" { n = $2; sub(/^port [0-9]+ /, ""); name[n] = $0; next } $1 == "answer" { $0 = name[$2] } 1' \
		"$TMP/ports" "$TMP/got" "$TMP/answers" | sort -u >"$1"
}
MODE=kernel
run "$TMP/kernel"
ok "$(wc -l <"$TMP/kernel") frames have an effect by the kernel" test "$(wc -l <"$TMP/kernel")" -gt 1000
for want in "ends.*u4 $A4 > $B4 " "ends0000.*u4 192.0.2.7 > $B4 " "ends.*t4 $A4 > $B4 " "fields.*u6" "random.*t4"; do
	ok "'$want' is among them" file_has "$TMP/kernel" "$want"
done
MODE=one
run "$TMP/one"
comm -13 "$TMP/kernel" "$TMP/one" >"$TMP/more"
ok "what is delivered is a subset" not test -s "$TMP/more"
head -n 40 "$TMP/more"
comm -23 "$TMP/kernel" "$TMP/one" >"$TMP/less"
say "$(wc -l <"$TMP/less") that only the kernel delivers"
head -n "${SHOW_LESS:-5}" "$TMP/less"
ok "they are few" test "$(wc -l <"$TMP/less")" -lt 50
ok "nothing is refused that routing allows" not grep -qE "^ends.* (u|t)4 ($A4|192.0.2.7) > $B4 unicast" "$TMP/less"
done_testing
