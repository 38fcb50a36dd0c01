#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Packets that stand for many segments, from a host of the same machine, and segments of several frames, both with flags
# and numbers that no sender would choose: what they do to a connection is what they do by the kernel. None of the
# pieces that they are cut into counts as a segment with a RST or SYN of its own (RFC 5961).
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -m 9000
b ethtool -K "$DEV_B" tx off >/dev/null 2>&1
peer_is_kernels
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		ghosts_are permanent
		ghost_differ "whole$fam" 10 hostile_whole
	done
done
done_testing
