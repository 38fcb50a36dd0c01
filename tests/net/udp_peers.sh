#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# An unconnected socket and a hundred peers; a hundred sockets and one.
. "$(dirname "$0")/lib.sh"
net_up
need python3
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000 100
		wait_udp a 7099
		offload_begin
		differ peers$fam pb python3 "$TESTS/net/peers.py" "${!own}" "${!peer}" 7000 100
		offload_end 2000
		stop "$BG"
	done
done
done_testing
