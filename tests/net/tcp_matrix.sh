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
		ghost_differ "matrix$fam" 30 tcp_matrix "$@"
	done
done
done_testing
