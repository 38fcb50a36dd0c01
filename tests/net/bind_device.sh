#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_BINDTODEVICE: two sockets on one port, each on its device; and a host with two devices.
. "$(dirname "$0")/lib.sh"
net_up -c
need python3
for MODE in $MODES; do
	for fam in 4 6; do
		a=A$fam c=C$fam
		bg pa python3 "$TESTS/net/reflector.py" "${!a}" 7000
		one=$BG
		bg c python3 "$TESTS/net/reflector.py" "${!c}" 7000
		two=$BG
		wait_udp a 7000
		wait_udp c 7000
		differ bind_device$fam pb python3 "$TESTS/net/bind_device.py" 7000 "$DEV_B" "${!a}" \
			"$DEV_BC" "${!c}"
		stop "$one" "$two"
	done
done
done_testing
