#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each kind of segment in each state of a connection, in and beside the window, segments in every order and such that
# overlap, from a peer of raw frames: answers, what the program sees, and what follows are the kernel's.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
GHOST_MAC=02:00:5e:10:00:77
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.77 G6=$NET6::77
ip -n "${NS}b" neigh replace "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh replace "$G6" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
b sysctl -qw net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096
N=0
for MODE in $MODES; do
	[ "$MODE" = both ] && MODE=one # nobody on a is preloaded
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		N=$((N + 1))
		bg pb python3 "$TESTS/net/tcp_far.py" "$TMP/far.$N"
		far=$BG
		wait_until 30 test -S "$TMP/far.$N" || die "the subject does not start"
		segs_begin
		differ "matrix$fam" a python3 "$TESTS/net/tcp_matrix.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
			"${!own}" "$MAC_B" "$TMP/far.$N" "$@"
		segs_end "matrix$fam" 30
		stop "$far"
	done
done
[ -z "${SHOW_ORACLE:-}" ] || cat "$TMP"/oracle.*
done_testing
