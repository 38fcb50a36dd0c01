#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# ICMP errors of a router: unreachable host, prohibited, packet too big with the path MTU.
. "$(dirname "$0")/lib.sh"
net_up
need python3
# a is the router to all that is not there.
a sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip -n "${NS}a" link add far type veth peer name near && ip -n "${NS}a" link set far up mtu 1280 &&
	ip -n "${NS}a" link set near up || skip "no second veth"
ip -n "${NS}a" route add 203.0.113.0/24 dev far
ip -n "${NS}a" -6 route add fd00:bad:3::/64 dev far
ip -n "${NS}a" route add unreachable 198.51.100.0/25
ip -n "${NS}a" route add prohibit 198.51.100.128/25
ip -n "${NS}a" -6 route add unreachable fd00:bad:1::/64
ip -n "${NS}a" -6 route add prohibit fd00:bad:2::/64
far_addresses() {
	ip -n "${NS}b" route replace 198.51.100.0/24 via "$A4"
	ip -n "${NS}b" route replace 203.0.113.0/24 via "$A4"
	ip -n "${NS}b" -6 route replace fd00:bad::/32 via "$A6"
}
for MODE in $MODES; do
	ip -n "${NS}b" route flush cache # what one mode learned the next must not know
	ip -n "${NS}b" -6 route flush cache
	ip -n "${NS}b" route del 203.0.113.0/24 2>/dev/null
	ip -n "${NS}b" -6 route del fd00:bad::/32 2>/dev/null
	far_addresses
	differ icmp4 pb python3 "$TESTS/net/icmp.py" soft:198.51.100.1 hard:198.51.100.129 big:203.0.113.1
	differ icmp6 pb python3 "$TESTS/net/icmp.py" soft:fd00:bad:1::1 hard:fd00:bad:2::1 big:fd00:bad:3::1
done
for f in 4 6; do
	ok "the oracle saw EMSGSIZE ($f)" file_has "$TMP/oracle.icmp$f" "EMSGSIZE"
	ok "the oracle saw 1280 ($f)" file_has "$TMP/oracle.icmp$f" "mtu then 1280"
done
ok "the oracle saw EHOSTUNREACH" file_has "$TMP/oracle.icmp4" EHOSTUNREACH
done_testing
