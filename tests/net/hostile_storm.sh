#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A station sends advertisements of a neighbour and of a router as fast as it can. The kernel tells each program that
# follows its tables of each of them; a program that is offloaded wakes for many of them at a time.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
b ethtool -K "$DEV_B" tx off >/dev/null 2>&1
peer_is_kernels
for MODE in $MODES; do
	own=B6 ghost=G6
	ghosts_are reachable
	ghost_differ storm "" hostile_storm
done
done_testing
