#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Node: an echo of streams and an HTTP server (libuv: epoll, writev, accept4).
. "$(dirname "$0")/lib_tcp.sh"
need node
net_up
for MODE in $MODES; do
	for addr in "$B4" "$B6"; do
		segs_begin
		serve 7301 node "$APPS/tcp_echo.js" server "$addr" 7300 && differ "node-$addr" pa node "$APPS/tcp_echo.js" client "$addr" 7300
		segs_end "node-$addr" 5
		alive "$SERVER"
		stop "$SERVER"
	done
done
done_testing
