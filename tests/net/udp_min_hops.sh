#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# IP_MINTTL and IPV6_MINHOPCOUNT (routing daemons set them) say nothing to a datagram socket, which stays offloaded.
. "$(dirname "$0")/lib.sh"
net_up
cat >"$TMP/hops.py" <<'P'
import socket, sys
own, peer = sys.argv[1:]
six = ":" in own
level, minimum, hops = (socket.IPPROTO_IPV6, 73, 16) if six else (socket.IPPROTO_IP, 21, 2)
s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.setsockopt(level, minimum, 255)
s.bind((own, 7001))
s.setsockopt(level, hops, 64)
print(s.getsockopt(level, minimum))
for i in range(10):
    s.sendto(b"%d" % i, (peer, 7000))
    print(len(s.recv(100)))
for value in (256, -1):
    try:
        s.setsockopt(level, minimum, value)
        print(value, s.getsockopt(level, minimum))
    except OSError as error:
        print(value, error.errno)
P
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		bg pa "$BIN/echo" "${!peer}" 7000
		wait_udp a 7000
		offload_begin
		differ hops$fam pb python3 "$TMP/hops.py" "${!own}" "${!peer}"
		offload_end 10
		stop "$BG"
	done
done
done_testing
