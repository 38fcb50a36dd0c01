#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# IP_PKTINFO and IPV6_RECVPKTINFO: destination and device received, source and device chosen.
. "$(dirname "$0")/lib.sh"
net_up
need python3
ip -n "${NS}b" addr add "$NET4.22/24" dev "$DEV_B"
ip -n "${NS}b" addr add "$NET6::22/64" dev "$DEV_B" nodad
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam
		[ $fam = 4 ] && second=$NET4.22 any=0.0.0.0 || second=$NET6::22 any=::
		bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000
		wait_udp a 7000
		differ pktinfo$fam pb python3 "$TESTS/net/pktinfo.py" "${!peer}" 7000 $second $any "$DEV_B"
		stop "$BG"
	done
done
done_testing
