#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A connection that goes back to the kernel at rest has a round trip there, so its first time-out is not a second; and the
# peer reads what was sent, no byte more.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ measured ''
for MODE in $MODES; do # (without time stamps it is the byte itself that measures)
	b sysctl -qw net.ipv4.tcp_timestamps=0
	fam=4
	[ "$MODE" = both ] || tcp_round measured plain ''
done
done_testing
