#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server's workers bind to one UDP port, one after another, while datagrams come to it, from before the first bind or
# from after it: from the first datagram that comes on, none is lost and none comes twice.
. "$(dirname "$0")/lib.sh"
net_up
value() { sed -n "s/^$1 //p" "$TMP/$when.$MODE"; }
server() {
	bg pb "$BIN/udp_workers" server "$B4" "$port" 4 >"$TMP/$when.$MODE"
	server=$BG
	wait_line "$TMP/$when.$MODE" '^ready' 30
}
load() { bg a "$BIN/udp_workers" client "$B4" "$port"; }
port=7000
for MODE in kernel one; do
	for when in before after; do
		port=$((port + 1)) before=$(udp_stat b InDatagrams)
		case $when in
		before) load && server ;;
		after) server && load ;;
		esac
		wait_end "$server" 20 || fail "the server: $?"
		kernels=$(($(udp_stat b InDatagrams) - before))
		same "datagrams from $when the first bind: lost, twice" "0 0" "$(value lost) $(value twice)"
		ok "$(value came) came" test "$(value came)" -gt 2000
		[ "$MODE" = kernel ] || ok "$kernels of them by the kernel" test "$kernels" -lt $(($(value came) / 2))
	done
done
done_testing
