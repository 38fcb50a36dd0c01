#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each kind of segment in each state of a connection, in and beside the window, segments in every order and such that
# overlap, from a peer of raw frames: answers, what the program sees, and what follows are the kernel's.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
ghosts_are permanent
b sysctl -qw net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096
for MODE in $(modes_alone); do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		far_up pb
		segs_begin
		differ "matrix$fam" a python3 "$TESTS/net/tcp_matrix.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
			"${!own}" "$MAC_B" "$TMP/far.$FAR_N" "$@"
		segs_end "matrix$fam" 30
		stop "$far"
	done
done
done_testing
