#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP sockets that are not connected (any more) and that a child has, too, are closed and replaced, and the child gets
# what was not read of them. So it is in a process alone and by the daemon.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
peer_is_kernels
for to in "$A4" "$A6"; do
	bg a python3 "$TESTS/net/tcp_fork_ended.py" serve "$to" 7000
	wait_tcp a 7000
	for MODE in $MODES; do
		differ "$to" pb timeout 30 python3 "$TESTS/net/tcp_fork_ended.py" "$to" 7000
	done
	if [ "$to" = "$A4" ] && kernel_is 5.14 && [[ $MODES == *kernel* ]]; then
		MODE=one LEASED=1
		daemon_up b
		differ "$to" pb timeout 30 python3 "$TESTS/net/tcp_fork_ended.py" "$to" 7000
		unset LEASED
	fi
	stop "$BG"
done
done_testing
