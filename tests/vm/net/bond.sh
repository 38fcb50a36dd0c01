#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bonds of two NICs on each host, active-backup and LACP: what is on the bond is offloaded, in copy mode, by packet
# sockets, and says so; and a connection goes on, offloaded, when the cable that carries it is pulled.
VM_NICS=${VM_NICS:-virtio:speed=10000,duplex=full virtio:speed=10000,duplex=full} VM_SECONDS=${VM_SECONDS:-2000} VM_COUNT=${VM_COUNT:-4}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_traffic.sh"
. "$VM_DIR/lib_events.sh"
modprobe bonding max_bonds=0 || skip "the guest's kernel has no bonds"

bond_up() { # host, its two devices, addresses...
	local h=$1 dev
	ip -n "$NS$h" link add bond0 type bond mode "$KIND" miimon 100 || return 1
	for dev in $2; do
		ip -n "$NS$h" link set "$dev" down && ip -n "$NS$h" addr flush dev "$dev" &&
			ip -n "$NS$h" link set "$dev" master bond0 || return 1
	done
	shift 2
	addr_up "$h" bond0 "$@"
}
second() { # host, 1 or 2: the second pair's NIC is this host's
	local dev
	dev=$(nic 2 "$2")
	ip link set "$dev" down name "s$dev" netns "$NS$1" && echo "s$dev"
}
arrived() { # pair: prints the bytes that b has received
	local dev=$LOW_B
	[ "$1" = 1 ] || dev=$SECOND_B
	b ip -s -j link show "$dev" | sed 's/.*"rx":{"bytes":\([0-9]*\).*/\1/'
}
carries() { # prints the pair that carries the traffic
	local one two
	one=$(arrived 1) two=$(arrived 2)
	moves && moves || return 1
	[ $(($(arrived 1) - one)) -lt 20000 ] || echo 1
	[ $(($(arrived 2) - two)) -lt 20000 ] || echo 2
}
cables() { # pair, on or off
	cable "$1" 1 "$2" && cable "$1" 2 "$2"
}
failover() { # cuts the pair that carries the traffic, and waits until the other pair carries it
	local pair other=
	pair=$(carries) && cables "$pair" off && moves && other=$(carries) && cables "$pair" on
	[ "$other" = $((3 - pair)) ] || { say "pair ${pair:-none} was cut: now ${other:-none} carries" && return 1; }
}
answered() { # asks a port without a listener
	a timeout 2 bash -c "exec 3<>/dev/tcp/$B4/9" 2>&1 | grep -q refused
}
use 1
net_up
SECOND_A=$(second a 1) && SECOND_B=$(second b 2) || die "there is no second pair"
DEV_A=bond0 DEV_B=bond0
bg a python3 "$VM_DIR/bytes.py" serve 0.0.0.0 7001
for KIND in active-backup 802.3ad; do
	MODE=$KIND
	bond_up a "$LOW_A $SECOND_A" "$A4/24" "$A6/64" && bond_up b "$LOW_B $SECOND_B" "$B4/24" "$B6/64" || die "no bond"
	ok "the bonds carry" wait_until 30 answered
	traffic "on the bond" 0
	says "bond0: sends by AF_XDP copy mode"
	says "packet sockets behind a tc program"
	rm -f "$TMP"/stream*
	stream "$TMP/stream"
	STREAM=$BG
	ok "the connection carries bytes" wait_until 60 test -s "$TMP/stream"
	rounds failover
	stream_end
	same "connections that the kernel has" 0 "$(cut -d' ' -f2 "$TMP/stream")"
	for h in a b; do ip -n "$NS$h" link del bond0; done
done
kernel_quiet
done_testing
