#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Fast Open's cookies are those of the machine: one that the kernel has given is good for an offloaded server,
# and keys of a listener's own, a second key and tcp_fastopen 0x400 work as by the kernel. A client that gets no cookie
# asks once by option 254.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
SEEDS=0
# An answer of the kernel's gives the client the cookie.
kernel_gives() {
	a ip tcp_metrics flush >/dev/null
	SEEDS=$((SEEDS + 1))
	MODE=kernel tcp_round fastopen_key "seed$SEEDS." "" learn
}
a sysctl -qw net.ipv4.tcp_fastopen=3
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		b sysctl -qw net.ipv4.tcp_fastopen=3
		# A client of ours has a memory of its own, which is empty at its start.
		if [ "$MODE" != both ]; then
			kernel_gives
			tcp_round fastopen_key kernels 60 use
		fi
		tcp_round fastopen_key own 60 own
		b sysctl -qw net.ipv4.tcp_fastopen=0x403
		tcp_round fastopen_key auto 60 auto
		# A server without Fast Open: the second SYN tries the experimental option, the others do not.
		a sysctl -qw net.ipv4.tcp_fastopen=0
		b ip tcp_metrics flush >/dev/null
		tcp_round fastopen_key "retry" "" retry
		a sysctl -qw net.ipv4.tcp_fastopen=3
	done
done
done_testing
