#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server that forks a child for each connection: its listener goes to the kernel in the middle of a bunch of
# connections, while the parent hands other connections of that listener back. None of them is reset.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
PORTS=${PORTS:-12}
case $BUILD in *asan* | *tsan*) PORTS=8 ;; esac # (a fork takes ten times as long)
peer_is_kernels
for MODE in $MODES; do
	bg pb python3 "$TESTS/net/tcp_forked_bunch.py" server "$B6" 7500 "$PORTS"
	wait_tcp b $((7500 + PORTS - 1))
	differ bunch a timeout 250 python3 "$TESTS/net/tcp_forked_bunch.py" client "$B6" 7500 "$PORTS"
	stop "$BG"
done
done_testing
