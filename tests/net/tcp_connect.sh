#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# connect() of TCP: waiting and not, refused, silent, unreachable, dissolved, interrupted, mapped.
. "$(dirname "$0")/lib_tcp.sh"
net_up
# No host answers at .77: the neighbour's address is right, but host a does not have the address.
MAC_A=$(ip -n "${NS}a" -o link show "$DEV_A" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
ip -n "${NS}b" neigh add "$NET4.77" lladdr "$MAC_A" dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh add "$NET6::77" lladdr "$MAC_A" dev "$DEV_B" nud permanent
ip -n "${NS}a" route add blackhole "$NET4.77" && ip -n "${NS}a" route add blackhole "$NET6::77"
# a is the router to what cannot be reached.
a sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip -n "${NS}a" route add unreachable 198.51.100.0/25
ip -n "${NS}a" -6 route add unreachable fd00:bad:1::/64
ip -n "${NS}b" route add 198.51.100.0/24 via "$A4"
ip -n "${NS}b" -6 route add fd00:bad::/32 via "$A6"
FAMILIES=4 tcp_differ connect 25 "$NET4.77" 198.51.100.1
FAMILIES=6 tcp_differ connect 25 "$NET6::77" fd00:bad:1::1 "$B4" "$A4"
done_testing
