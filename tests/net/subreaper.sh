#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that is a child subreaper waits for its children alone, not for the library's helper.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib.sh"
net_up
need python3
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
wait_udp a 7000
for MODE in $MODES; do
	offload_begin
	differ subreaper pb python3 "$TESTS/net/subreaper.py" "$A4" 7000
	offload_end 10
	ok "nothing is left on the device" wait_until 10 not has_xdp
done
done_testing
