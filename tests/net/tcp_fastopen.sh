#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP Fast Open, as client (MSG_FASTOPEN, TCP_FASTOPEN_CONNECT) and as server, with and without
# cookies, and switched off by the machine.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
forget() { # cookies that the kernels have
	a ip tcp_metrics flush >/dev/null
	b ip tcp_metrics flush >/dev/null
}
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		a sysctl -qw net.ipv4.tcp_fastopen=3
		b sysctl -qw net.ipv4.tcp_fastopen=3
		forget
		tcp_round fastopen fastopen 60
		b sysctl -qw net.ipv4.tcp_fastopen=2
		forget
		tcp_round fastopen no_client "" off
		a sysctl -qw net.ipv4.tcp_fastopen=0x203
		b sysctl -qw net.ipv4.tcp_fastopen=0x207
		forget
		tcp_round fastopen no_cookies "" bare
	done
done
done_testing
