#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Java: DatagramSocket, and DatagramChannel with a Selector.
. "$(dirname "$0")/lib.sh"
need java javac
net_up
export JAVA_TOOL_OPTIONS=-Xshare:auto
javac -d "$TMP" "$APPS/UdpEcho.java" 2>/dev/null || die "javac fails"
for MODE in $MODES; do
	for how in server nio; do
		bg pb java -cp "$TMP" UdpEcho $how "$B4" 7000 2>"$TMP/java.err"
		server=$BG
		wait_server "$server" 7000
		offload_begin
		differ java-$how pa java -cp "$TMP" UdpEcho client "$B4" 7000
		offload_end 500
		kill "$server"
		wait "$server" 2>/dev/null
	done
done
done_testing
