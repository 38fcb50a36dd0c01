#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Many lanes on one queue, each receiving little: the fill ring does not run dry, even with the fewest frames.
. "$(dirname "$0")/lib.sh"
need python3
net_up
ask() { # name SOCKETS TIMES
	differ "$1" pb timeout 100 python3 "$TESTS/net/lanes.py" ask "$to" 7000 "$2" "$3"
}
peer_is_kernels
for to in "$A4" "$A6"; do
	bg a python3 "$TESTS/net/lanes.py" serve "$to" 7000
	wait_udp a 7000
	for MODE in $MODES; do
		SL_ENV=(SLUICE_RING_ALLOCATION_LOGIC_RX=10)
		ask "80 lanes $to" 80 40
		SL_ENV=(SLUICE_RING_ALLOCATION_LOGIC_RX=10 SLUICE_RX_WRE=64)
		ask "3 lanes, 64 frames, $to" 3 100
	done
	stop "$BG"
done
done_testing
