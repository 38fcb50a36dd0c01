#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# connect: filter, reconnect, disconnect, source address, ECONNREFUSED, the error queue.
. "$(dirname "$0")/lib.sh"
net_up
need python3
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000 2
		wait_udp a 7001
		differ connect$fam pb python3 "$TESTS/net/connect.py" "${!own}" "${!peer}" 7000
		stop "$BG"
	done
done
done_testing
