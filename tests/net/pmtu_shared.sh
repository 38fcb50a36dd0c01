#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A path MTU that a router tells about one connection is the one with which the next ones to that peer begin.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
ghosts_are permanent
b sysctl -qw net.ipv4.tcp_timestamps=0
for MODE in $(modes_alone); do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		paths_forgotten
		ghost_differ "pmtu$fam" 20 pmtu_shared
	done
done
done_testing
