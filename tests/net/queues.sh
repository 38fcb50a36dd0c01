#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Devices with several queues: all are covered, flows of all come, SO_REUSEPORT spreads; a host with
# two devices uses both.
. "$(dirname "$0")/lib.sh"
net_up -q 2 -c
need python3
for MODE in $MODES; do
	bg pa python3 "$TESTS/net/reflector.py" "$A4" 7000 64
	one=$BG
	bg c python3 "$TESTS/net/reflector.py" "$C4" 7000 64
	two=$BG
	wait_udp a 7063
	wait_udp c 7063
	offload_begin
	differ peers-a pb python3 "$TESTS/net/peers.py" "$B4" "$A4" 7000 64
	offload_end 1280
	offload_begin
	differ peers-c pb python3 "$TESTS/net/peers.py" "$B4C" "$C4" 7000 64
	offload_end 1280
	offload_begin
	# A wildcard socket and peers on both devices.
	differ both-devices pb python3 "$TESTS/net/two_devices.py" 7000 "$A4" "$C4"
	offload_end 1280
	differ reuse pb python3 "$TESTS/net/reuse.py" "$B4" "$A4" 7000 64
	stop "$one" "$two"
done
done_testing
