#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# ECN (RFC 3168): each value of tcp_ecn asks and answers as the kernel does, with all flags of SYN and SYN-ACK.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
ghosts_are permanent
for MODE in $(modes_alone); do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		for value in 1 2 0; do
			b sysctl -qw net.ipv4.tcp_ecn="$value"
			ghost_differ "ecn$value,$fam" "" tcp_ecn "$value"
		done
	done
done
done_testing
