#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP over the kernel's netem (a second opinion to our own wire) with a peer that sends by bbr, dctcp,
# reno or cubic, whichever the kernel has: loss, marks instead of loss (ECN), and all else that a
# network does to packets. Every byte is checked, both ways.
. "$(dirname "$0")/lib_tcp.sh"
need tc
net_up -w
FAMILIES=${FAMILIES:-4}
w ip link add bridge type bridge 2>/dev/null || skip "the kernel has no bridges"
for dev in "$WIRE_A" "$WIRE_B"; do
	w tc qdisc add dev "$dev" root netem delay 1ms 2>/dev/null || skip "the kernel has no netem"
	w ip link set "$dev" master bridge
done
w ip link set bridge up
AVAILABLE=" $(cat /proc/sys/net/ipv4/tcp_available_congestion_control) "

# By the route: dctcp may not be a namespace's default, and takes ECN from there.
peer_sends_by() { # name algorithm netem...
	local name=$1 cc=$2 dev
	shift 2
	case $AVAILABLE in *" $cc "*) ;; *) say "the kernel has no $cc" && return 0 ;; esac
	for dev in "$WIRE_A" "$WIRE_B"; do w tc qdisc change dev "$dev" root netem "$@"; done
	ip -n "${NS}a" route replace "$NET4.0/24" dev "$DEV_A" src "$A4" congctl "$cc"
	ip -n "${NS}a" -6 route replace "$NET6::/64" dev "$DEV_A" congctl "$cc"
	tcp_round wire "$name" 10 300000
}

for MODE in $MODES; do
	for fam in $FAMILIES; do
		for cc in ${ALGORITHMS:-bbr dctcp reno cubic}; do
			peer_sends_by "$cc" $cc limit 2000 delay 5ms loss 1%
		done
		a sysctl -qw net.ipv4.tcp_ecn=1
		b sysctl -qw net.ipv4.tcp_ecn=1
		for cc in dctcp cubic; do
			peer_sends_by "marked_$cc" $cc limit 2000 delay 5ms loss 3% ecn
		done
		peer_sends_by rough cubic limit 2000 delay 5ms 2ms loss 1% duplicate 1% corrupt 0.5%
		a sysctl -qw net.ipv4.tcp_ecn=2
		b sysctl -qw net.ipv4.tcp_ecn=2
	done
done
done_testing
