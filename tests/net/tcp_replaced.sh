#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A card is replaced under a connection: its device is deleted, and one with the same name and addresses comes up behind
# the same switch. The peer notices nothing and repeats what is on the way before the kernel has the connection, and
# does not answer ARP for a while. (A reset by the kernel used to wait for that answer, and left then.)
. "$(dirname "$0")/lib.sh"
need python3
need_built
VM_DIR=$TESTS/vm
. "$VM_DIR/lib_events.sh"
MAC=02:00:00:00:00:b1
new_device() {
	join b w "$DEV_B" "$WIRE_B" 1 1500 && ip -n "${NS}w" link set "$WIRE_B" up master sw0 &&
		ip -n "${NS}b" link set "$DEV_B" address $MAC && addr_up b "$DEV_B" "$B4/24"
}
replace() {
	a sysctl -qw "net.ipv4.conf.$DEV_A.arp_ignore=8"
	ip -n "${NS}b" link del "$DEV_B" && new_device || return 1
	sleep 1.2 # (it was the kernel's within a second, and is at once)
	a sysctl -qw "net.ipv4.conf.$DEV_A.arp_ignore=0"
}
replace_under() { # round
	local file=$TMP/rider.$1 rider
	stream "$file"
	rider=$BG
	wait_until 60 test -s "$file" || return 1
	replace && moves "$file" "$rider" && touch "$file.stop" && wait_end "$rider" 60
}
holds() { find "/proc/$STREAM/fd" -mindepth 1 | wc -l; } # (other tests have programs and maps, too)
net_up -w
ip -n "${NS}w" link add name sw0 type bridge forward_delay 0 mcast_snooping 0
ip -n "${NS}w" link set sw0 up
ip -n "${NS}w" link set "$WIRE_A" master sw0
ip -n "${NS}b" link del "$DEV_B"
new_device || die "no new device"
ip -n "${NS}a" neigh replace "$B4" lladdr $MAC nud permanent dev "$DEV_A"
stream_begin
VM_COUNT=4 rounds replace_under
stream_end
done_testing
