#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The guards hold back the kernel's resets, but none that is due: a peer that connects to a closed port, or has a
# connection that the host does not know, is told at once, whatever is offloaded beside it.
. "$(dirname "$0")/lib_tcp.sh"
net_up -c
need python3
PORT=7200
told() { # WHO ADDRESS PORT HOW, what is expected
	OUT=$("$1" python3 "$TESTS/net/tcp_refused.py" "$2" "$3" "$4" 2>&1)
	[ "$OUT" = "$5" ] || { say "$OUT"; return 1; }
}
NO="ConnectionRefusedError at once" RESET="ConnectionResetError at once"
for MODE in $MODES; do
	[ "$MODE:${MODES/*one*/one}" != both:one ] || continue
	PORT=$((PORT + 10))
	rm -f "$TMP/b"
	bg pb python3 -c "import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('0.0.0.0', $PORT))
s.listen()
t = socket.socket()
t.setsockopt(socket.SOL_SOCKET, 25, b'$DEV_B') # SO_BINDTODEVICE
t.bind(('0.0.0.0', $PORT + 2))
t.listen()
c, _ = s.accept()
print(c.recv(1), flush=True)
time.sleep(60)" >"$TMP/b"
	SUBJECT=$BG
	wait_tcp b $PORT
	# (Frames are held back only once there is a connection of ours.)
	bg a python3 -c "import socket, time
s = socket.create_connection(('$B4', $PORT))
s.send(b'x')
time.sleep(60)"
	OTHER=$BG
	wait_line "$TMP/b" x
	[ "$MODE" = kernel ] || same "offloaded" 0 "$(b ss -Htn state established "sport = :$PORT" | wc -l)"
	ok "a port that is closed" told a "$B4" $((PORT + 1)) connect "$NO"
	ok "one that is open on another device" told c "$B4C" $((PORT + 2)) connect "$NO"
	ok "one that is closed for IPv6" told a "$B6" $PORT connect "$NO"
	ok "a connection of nobody's" told a "$B4" $PORT stale "$RESET"
	ok "one of this host's own" told b "$B4" $PORT stale "$RESET"
	ok "by the loopback" told b 127.0.0.1 $PORT stale "$RESET"
	stop "$SUBJECT"
	ok "when the server has gone" told a "$B4" $PORT connect "$NO"
	ok "and its connections" told a "$B4" $PORT stale "$RESET"
	stop "$OTHER"
done
done_testing
