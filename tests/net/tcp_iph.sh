#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What TCP's packets have in their headers: TOS, TTL, their IPv6 ones, MSS, of a listener's answers, of connections of
# one AF_INET6 socket over both families, and of a socket whose options change; the way that SO_MARK chooses.
MODES=${MODES:-oracle one} # host a looks at what comes: by its kernel
. "$(dirname "$0")/lib_tcp.sh"
net_up
FAR=198.51.100.7 # has a way by the mark alone
ip -n "${NS}a" addr add $FAR/32 dev lo
b ip route add unreachable 198.51.100.0/24
b ip route add $FAR via "$A4" dev "$DEV_B" table 100 mtu 1300
b ip rule add fwmark 5 table 100
for MODE in $MODES; do
	meet
	bg pb python3 "$TESTS/net/tcp_iph.py" subject
	subject=$BG
	wait_tcp b 7003
	segs_begin
	differ headers a python3 "$TESTS/net/tcp_iph.py" "$DEV_A" "$B4" "$B6" "$A4" "$A6" $FAR
	segs_end headers 10
	stop "$subject"
done
done_testing
