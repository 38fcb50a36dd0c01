#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP_CONGESTION by the name of an algorithm that the kernel has not got: it is taken, told, inherited, used, and left
# behind with one line in the log when the connection becomes the kernel's. A name that nobody has is ENOENT.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
grep -qw bbr3 /proc/sys/net/ipv4/tcp_available_congestion_control && skip "the kernel has bbr3"
for MODE in $MODES; do
	[ "$MODE" != kernel ] || continue
	meet
	bg a python3 "$TESTS/net/tcp_far.py" "$TMP/far.$MODE"
	wait_until 30 test -S "$TMP/far.$MODE" || die "the far host does not start"
	rm -f "$TMP"/sluice.*.log
	ok "bbr3 by its name" pb python3 "$TESTS/net/tcp_cc_own.py" "$B4" "$A4" "$TMP/far.$MODE"
	same "connections whose algorithm the log says to be left" 2 \
		"$(cat "$TMP"/sluice.*.log | grep -c "no congestion control bbr3")"
done
same "the kernel refuses the name" "ENOENT" "$(b python3 -c 'import errno, socket
try:
	socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr3")
except OSError as e:
	print(errno.errorcode[e.errno])')"
done_testing
