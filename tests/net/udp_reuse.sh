#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_REUSEADDR and SO_REUSEPORT: who gets what, EADDRINUSE.
. "$(dirname "$0")/lib.sh"
net_up
need python3
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000 64
		wait_udp a 7063
		differ reuse$fam pb python3 "$TESTS/net/reuse.py" "${!own}" "${!peer}" 7000 64
		stop "$BG"
	done
done
done_testing
