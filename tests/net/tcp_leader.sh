#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Threads let a busy thread take a lane's packets in for them; when that thread stops, they are still served.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam
		bg pb python3 "$TESTS/net/tcp_leader.py" server "${!own}" 7000
		wait_tcp b 7000
		meet
		ok "everybody is served over IPv$fam" pa timeout 60 python3 "$TESTS/net/tcp_leader.py" client "${!own}" 7000
		stop "$BG"
	done
done
done_testing
