#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Options, headers, sequence numbers and handshakes that are seldom seen, and about which the standards have rules (RFC 9293,
# 7323, 2018, 7413, 6191, 8985): our answers, and the results of the program's calls, are the kernel's.
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
