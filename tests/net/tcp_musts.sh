#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the standards say of options, header, sequence space and handshakes that are seldom seen (RFC 9293, 7323, 2018, 7413, 6191,
# 8985): answers and what the program sees are the kernel's.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
ghosts_are permanent
b sysctl -qw net.ipv4.tcp_fastopen=3
for MODE in $(modes_alone); do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		ghost_differ "musts$fam" 30 tcp_musts "$@"
	done
done
done_testing
