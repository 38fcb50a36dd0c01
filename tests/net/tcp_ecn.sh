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
			far_up pb
			differ "ecn$value,$fam" a python3 "$TESTS/net/tcp_ecn.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
				"${!own}" "$MAC_B" "$TMP/far.$FAR_N" "$value"
			stop "$far"
		done
	done
done
done_testing
