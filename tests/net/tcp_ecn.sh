#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# ECN (RFC 3168): each value of tcp_ecn asks and answers as the kernel does, with all flags of SYN and SYN-ACK.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
GHOST_MAC=02:00:5e:10:00:77
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.77 G6=$NET6::77
ip -n "${NS}b" neigh replace "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh replace "$G6" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
N=0
for MODE in $MODES; do
	[ "$MODE" = both ] && MODE=one # nobody on a is preloaded
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		for value in 1 2 0; do
			N=$((N + 1))
			b sysctl -qw net.ipv4.tcp_ecn="$value"
			bg pb python3 "$TESTS/net/tcp_far.py" "$TMP/far.$N"
			far=$BG
			wait_until 30 test -S "$TMP/far.$N" || die "the subject does not start"
			differ "ecn$value,$fam" a python3 "$TESTS/net/tcp_ecn.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
				"${!own}" "$MAC_B" "$TMP/far.$N" "$value"
			stop "$far"
		done
	done
done
[ -z "${SHOW_ORACLE:-}" ] || cat "$TMP"/oracle.*
done_testing
