#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Node: an echo over IPv4 and IPv6 (libuv: epoll, recvmmsg, sendmmsg).
. "$(dirname "$0")/lib.sh"
need node
net_up
for MODE in $MODES; do
	for addr in "$B4" "$B6"; do
		bg pb node "$APPS/echo.js" server "$addr" 7000
		server=$BG
		wait_server "$server" 7000
		offload_begin
		differ "node-$addr" pa node "$APPS/echo.js" client "$addr" 7000
		offload_end 500
		stop "$server"
	done
done
done_testing
