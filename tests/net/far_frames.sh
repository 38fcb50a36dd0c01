#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program whose sockets hold more packets than the frames that are registered with its XSK sends from the others.
. "$(dirname "$0")/lib.sh"
net_up
need python3
if [ -n "${POLICY:-}" ]; then
	MODES=${MODES/both/}
	daemon_up b "$POLICY"
	LEASED=1
fi
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		peer=A$fam own=B$fam
		bg a python3 "$TESTS/net/reflector.py" "${!peer}" 7000 1
		reflector=$BG
		bg a python3 "$TESTS/net/far_frames.py" echo "${!peer}" 7000
		wait_udp a 7000
		wait_tcp a 7000
		offload_begin
		differ "far$fam" pb python3 "$TESTS/net/far_frames.py" "${!own}" "${!peer}" 7000
		offload_end 4040
		stop "$reflector"
	done
done
done_testing
