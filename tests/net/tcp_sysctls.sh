#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The effect of net.ipv4.tcp_* settings that no other test looks at: reflected ToS, the urgent byte, ECN of a repeated SYN,
# the number of TIME_WAITs, the rate that TCP_INFO tells. As they are, and changed.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
ghosts_are permanent
b sysctl -qw net.ipv4.tcp_ecn=1
for MODE in $(modes_alone); do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		for setting in none reflect_tos=1 stdurg=1 ecn_fallback=0 max_tw_buckets=0 pacing_ss_ratio=500; do
			if [ "$setting" != none ]; then
				old=$(b cat "/proc/sys/net/ipv4/tcp_${setting%=*}")
				b sysctl -qw "net.ipv4.tcp_$setting"
			fi
			percent=40
			[ "$setting" != max_tw_buckets=0 ] || percent=
			ghost_differ "$setting,$fam" "$percent" tcp_sysctls "$setting"
			[ "$setting" = none ] || b sysctl -qw "net.ipv4.tcp_${setting%=*}=$old"
		done
	done
done
done_testing
