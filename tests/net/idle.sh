#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server that gets no requests sleeps, though it looks at its clock again and again; it answers when a request comes.
. "$(dirname "$0")/lib.sh"
need python3
net_up
share() { sed -n 's/^share \([0-9]*\).*/\1/p' "$TMP/idle"; }
server() { # setting...
	SL_ENV=("$@")
	bg pb python3 "$TESTS/net/idle.py" "$B4" 7000 4 >"$TMP/idle"
	wait_line "$TMP/idle" share 60
	ok "its question is answered" a python3 -c 'if 1:
		import socket, sys
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.settimeout(20)
		s.sendto(b"question", (sys.argv[1], 7000))
		assert s.recv(100) == b"question"' "$B4"
	wait_end "$BG" 20 || fail "the server: $?"
}
for MODE in kernel one; do
	server
	ok "idle, it takes $(share) % of a processor" test "$(share)" -lt 25
done
server SLUICE_SELECT_POLL=100000
say "    told to poll for 0.1 s it takes $(share) %"
done_testing
