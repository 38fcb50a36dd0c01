#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# UDP over IPv4 and IPv6: echo, peek, truncation, scatter, non-blocking, timeouts, dup, shutdown.
. "$(dirname "$0")/lib.sh"
net_up
need python3
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000
		wait_udp a 7000
		offload_begin
		differ basic$fam pb python3 "$TESTS/net/basic.py" "${!own}" "${!peer}" 7000
		offload_end 20
		stop "$BG"
	done
done
done_testing
