#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A path MTU that the kernel has learnt is the one with which our next connection to that peer begins, and of a
# program that knows the route already a second later.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
bg a python3 -c "
import socket
s = socket.create_server(('$A4', 7000))
while True:
    s.accept()"
wait_tcp a 7000
LEARNT="$TESTS/net/pmtu_learnt.py"
learnt() { b ip route get "$A4" | grep -q "mtu $1"; }
for MODE in $(modes_alone); do
	segs_begin
	b ip route flush cache
	differ "at first" pb python3 "$LEARNT" ask "$A4" 7000
	b python3 "$LEARNT" tell "$B4" "$A4" 1300
	ok "the kernel has learnt it" wait_until 5 learnt 1300
	differ "then" pb python3 "$LEARNT" ask "$A4" 7000
	differ "in one process" pb python3 "$LEARNT" both "$B4" "$A4" 7000 1200
	segs_end "path MTU" 20
done
done_testing
