#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device whose driver says that it is hv_netvsc (a stand-in: a bridge, with two veths as its virtual function and its
# synthetic way; tests/net/driver_name.c): it is received from by packet sockets, with XDP demanded by a generic program;
# when its virtual function goes sockets stay offloaded on it, no byte is wrong, and the plug-out is counted.
. "$(dirname "$0")/lib.sh"
need socat
MODES="kernel one"
net_up
VF_A=f$$a VF_B=f$$b
join a b "$VF_A" "$VF_B" 1 1500
pair_up() { # host, its device, the way, the VF: the device is above both
	local h=$1
	ip -n "$NS$h" link add name "$2" type bridge forward_delay 0 mcast_snooping 0 || skip "no bridges"
	ip -n "$NS$h" addr flush dev "$3"
	ip -n "$NS$h" link set "$3" master "$2" && ip -n "$NS$h" link set "$4" master "$2"
	ip -n "$NS$h" link set "$4" up && ip -n "$NS$h" link set "$2" up
}
pair_up a hv_a "$DEV_A" "$VF_A"
ip -n "${NS}b" link set "$DEV_B" down # (one way at a time: there is no loop)
pair_up b hv_b "$DEV_B" "$VF_B"
addr_up a hv_a "$A4/24" "$A6/64"
addr_up b hv_b "$B4/24" "$B6/64"
subject() { # in the background
	if [ "$MODE" = kernel ]; then bg b "$@"; else bg sb "$BIN/driver_name" hv_b hv_netvsc "$@"; fi
}
plug() { # in|out: the virtual function
	local up=$VF_B down=$DEV_B
	[ "$1" = in ] || up=$DEV_B down=$VF_B
	ip -n "${NS}b" link set "$down" down
	ip -n "${NS}b" link set "$up" up
}
stream() { # a writes what b has; the virtual function goes in the middle
	head -c 3000000 /dev/urandom >"$TMP/stream"
	subject socat -u "TCP4-LISTEN:7001,reuseaddr" "OPEN:$TMP/got,creat,trunc"
	local got=$BG
	wait_tcp b 7001
	a bash -c "(head -c 1500000 $TMP/stream; touch $TMP/half; while [ -e $TMP/half ]; do sleep 0.05; done; tail -c +1500001 $TMP/stream) | socat -u - TCP4:$B4:7001" &
	local sender=$!
	wait_until 20 test -e "$TMP/half"
	plug out
	rm "$TMP/half"
	ok "a stream over a plug-out ends" wait_end "$got" 30
	wait "$sender"
	ok "not a byte is wrong" cmp "$TMP/stream" "$TMP/got"
}
for MODE in $MODES; do
	plug in
	subject "$BIN/echo" "$B4" 7000
	ECHO=$BG
	wait_udp b 7000
	a "$BIN/steady" -n 60 "$B4" 7000 "$TMP/answers"
	BEFORE=$(udp_stat b InDatagrams)
	a "$BIN/steady" -n 200 "$B4" 7000 "$TMP/answers"
	same "datagrams by the virtual function" "200 200 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	plug out
	wait_until 10 eval 'a "$BIN/steady" -n 1 "$B4" 7000 "$TMP/answers"; [ "$(cut -d" " -f2 "$TMP/answers")" = 1 ]'
	a "$BIN/steady" -n 200 "$B4" 7000 "$TMP/answers"
	same "and by the other way" "200 200 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	if [ "$MODE" = one ]; then
		ok "none by the kernel" test $(($(udp_stat b InDatagrams) - BEFORE)) -le 4
		ok "by packet sockets or as demanded" logged "hv_b: offloaded: driver hv_netvsc, .*\(packet sockets\|XDP generic (natively the kernel would drop\)"
		ok "the log tells of the plug-out" logged "hv_b: .* has no link or has gone"
		same "it is counted" "VF Plugouts:         1" "$(b "$BUILD/sluice" stat -c 1 -v 3 2>/dev/null | grep -o 'VF Plugouts: *[0-9]*')"
	fi
	stop "$ECHO"
	plug in
	stream
done
done_testing
