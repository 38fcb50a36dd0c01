#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP with differently configured peers: congestion control, options that are off, small and large MTUs, a smaller MTU
# on the way that no ICMP tells of. Every byte is checked, both ways.
. "$(dirname "$0")/lib_tcp.sh"
net_up -w
wire_up --seed 3
FAMILIES=${FAMILIES:-4 6}

set_on() { # host name=value...
	local host=$1 s
	shift
	for s in "$@"; do "$host" sysctl -qw "net.ipv4.$s"; done
}
peer_with() { # name settings of the peer...
	local name=$1
	shift
	set_on a "$@"
	tcp_round wire "$name" 10 200000
	set_on a tcp_window_scaling=1 tcp_timestamps=1 tcp_sack=1 tcp_ecn=2
}
# By the route, since not every algorithm may be a namespace's default.
peer_sends_by() { # algorithm
	ip -n "${NS}a" route replace "$NET4.0/24" dev "$DEV_A" src "$A4" congctl "$1"
	ip -n "${NS}a" -6 route replace "$NET6::/64" dev "$DEV_A" congctl "$1"
	tcp_round wire "$1" 10 500000
	ip -n "${NS}a" route replace "$NET4.0/24" dev "$DEV_A" src "$A4"
	ip -n "${NS}a" -6 route replace "$NET6::/64" dev "$DEV_A"
}
mtus() { # of a, of the wire, of b
	ip -n "${NS}a" link set "$DEV_A" mtu "$1"
	ip -n "${NS}w" link set "$WIRE_A" mtu "$2"
	ip -n "${NS}w" link set "$WIRE_B" mtu "$2"
	ip -n "${NS}b" link set "$DEV_B" mtu "$3"
	# A device below 1280 loses IPv6.
	[ "$1" -lt 1280 ] || ip -n "${NS}a" addr replace "$A6/64" dev "$DEV_A" nodad
	[ "$3" -lt 1280 ] || ip -n "${NS}b" addr replace "$B6/64" dev "$DEV_B" nodad
}
with_mtus() { # name percent a wire b
	mtus "$3" "$4" "$5"
	tcp_round wire "$1" "$2" 300000
	mtus 1500 1500 1500
}

for MODE in $MODES; do
	for fam in $FAMILIES; do
		for cc in $(cat /proc/sys/net/ipv4/tcp_available_congestion_control); do
			peer_sends_by "$cc"
		done
		peer_with no_scale tcp_window_scaling=0
		peer_with no_stamps tcp_timestamps=0
		peer_with no_sack tcp_sack=0
		peer_with bare tcp_window_scaling=0 tcp_timestamps=0 tcp_sack=0
		peer_with ecn tcp_ecn=1
		[ "$fam" = 6 ] || with_mtus mtu576 10 576 576 576
		with_mtus mtu1280 10 1280 1280 1280
		with_mtus peer1280 10 1280 1500 1500
		with_mtus mtu9000 10 9000 9000 9000
		# Packets longer than the path's MTU vanish: both ends find the MTU by probing (RFC 4821).
		set_on a tcp_mtu_probing=1
		set_on b tcp_mtu_probing=1
		with_mtus black_hole 30 1500 1300 1500
		set_on a tcp_mtu_probing=2
		set_on b tcp_mtu_probing=2
		with_mtus probing 30 1500 1300 1500
		set_on a tcp_mtu_probing=0
		set_on b tcp_mtu_probing=0
	done
done
done_testing
