#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TOS, TTL, their IPv6 ones, DF, MSS, window and flow label of a TCP listener's answers, of connections of one AF_INET6 socket over
# both families, and of a socket whose options change; the way that SO_MARK chooses.
MODES=${MODES:-oracle one}
MODES=${MODES/both/one} # host a looks at what comes: by its kernel
. "$(dirname "$0")/lib_tcp.sh"
net_up
FAR=198.51.100.7 # (only the mark gives it a route)
ip -n "${NS}a" addr add $FAR/32 dev lo
b ip route add unreachable 198.51.100.0/24
b ip route add $FAR via "$A4" dev "$DEV_B" table 100 mtu 1300
b ip rule add fwmark 5 table 100
b sysctl -qw net.ipv4.ip_default_ttl=77 net.ipv4.ip_no_pmtu_disc=1 "net.ipv6.conf.$DEV_B.hop_limit=88"
for MODE in $MODES; do
	meet
	bg pb python3 "$TESTS/net/tcp_iph.py" subject
	subject=$BG
	wait_tcp b 7003
	for labels in 0 1; do
		b sysctl -qw net.ipv6.auto_flowlabels=$labels
		[ $labels = 0 ] || sleep 1.1 # (the library looks at the setting once a second)
		segs_begin
		differ headers$labels a python3 "$TESTS/net/tcp_iph.py" "$DEV_A" "$B4" "$B6" "$A4" "$A6" $FAR
		segs_end headers$labels 10
	done
	stop "$subject"
done
done_testing
