#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each metric of a route (ip-route(8)) has the kernel's effect on TCP connections both ways.
MODES=${MODES:-oracle one}
MODES=${MODES/both/one} # (the far host looks at packets)
. "$(dirname "$0")/lib_tcp.sh"
net_up
# Has the routes between the hosts, in host b, say that.
route() { # METRICS...
	b ip route replace "$NET4.0/24" dev "$DEV_B" src "$B4" "$@"
	b ip -6 route replace "$A6/128" dev "$DEV_B" src "$B6" "$@"
	b ip tcp_metrics flush all >/dev/null 2>&1
}
# Compares what tcp_route.py says by the kernel and by us under such a route (SHORT: by each family in turn).
read -ra families <<<"${FAMILIES:-4 6}"
n=0
try() { # CASE METRICS...
	local case=$1 fam these=("${families[@]}")
	shift
	route "$@"
	[ -z "${SHORT:-}" ] || these=("${families[n++ % ${#families[@]}]}")
	for MODE in $MODES; do
		for fam in "${these[@]}"; do
			b ip tcp_metrics flush all >/dev/null 2>&1
			tcp_round route "$case" "" "$case"
		done
	done
}
a sysctl -q net.ipv4.tcp_fastopen=0x203 net.ipv4.tcp_ecn=2
b sysctl -q net.ipv4.tcp_fastopen=3 net.ipv4.tcp_ecn=2
b sysctl -q net.ipv4.tcp_no_ssthresh_metrics_save=0
[ -n "${SHORT:-}" ] || try none mtu 1500
try mtu mtu lock 1200
try rto_min rto_min 20ms
try cwnd cwnd lock 16 initcwnd 20 congctl cubic
try initrwnd initrwnd 4
try window window 20000
try quickack quickack 1
try rtt rtt 2000ms
try ssthresh ssthresh 7 congctl cubic
try reordering reordering 9
try fastopen_no_cookie fastopen_no_cookie 1
# (The kernel asks for ECN and grants it by a route although the machine does not.)
b sysctl -q net.ipv4.tcp_ecn=0
a sysctl -q net.ipv4.tcp_ecn=1
try features features ecn
done_testing
