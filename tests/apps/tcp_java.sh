#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Java: a thread for each connection, and a Selector; clients by streams and by channels.
. "$(dirname "$0")/lib_tcp.sh"
need java javac
net_up
export JAVA_TOOL_OPTIONS=-Xshare:auto
javac -d "$TMP" "$APPS/TcpEcho.java" 2>"$TMP/javac" || die "javac fails: $(tail -n 3 "$TMP/javac")"
for MODE in $MODES; do
	for how in server nio; do
		segs_begin
		serve 7400 java -cp "$TMP" TcpEcho $how "$B4" 7400 && differ "java-$how" pa java -cp "$TMP" TcpEcho client "$B4" 7400
		segs_end "java-$how" 5
		alive "$SERVER"
		kill "$SERVER"
		wait "$SERVER" 2>/dev/null
	done
done
done_testing
