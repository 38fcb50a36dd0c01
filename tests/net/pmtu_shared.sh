#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A path MTU that a router tells about one connection is the one with which the next ones to that peer begin.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
GHOST_MAC=02:00:5e:10:00:77
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.77 G6=$NET6::77
ip -n "${NS}b" neigh replace "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh replace "$G6" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
b sysctl -qw net.ipv4.tcp_timestamps=0
N=0
for MODE in $MODES; do
	[ "$MODE" = both ] && MODE=one # nobody on a is preloaded
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		N=$((N + 1))
		ip -n "${NS}b" route flush cache
		ip -n "${NS}b" -6 route flush cache
		bg pb python3 "$TESTS/net/tcp_far.py" "$TMP/far.$N"
		far=$BG
		wait_until 30 test -S "$TMP/far.$N" || die "the subject does not start"
		segs_begin
		differ "pmtu$fam" a python3 "$TESTS/net/pmtu_shared.py" "$DEV_A" "${!ghost}" $GHOST_MAC "${!own}" "$MAC_B" "$TMP/far.$N"
		segs_end "pmtu$fam" 20
		stop "$far"
	done
done
[ -z "${SHOW_ORACLE:-}" ] || cat "$TMP"/oracle.*
done_testing
