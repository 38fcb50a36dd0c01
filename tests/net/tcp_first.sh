#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program's first connection to a host that is not a known neighbour is offloaded: the neighbour is resolved while
# connect() waits, though the device has just come up. The first connection to a program, whose peer has tried to
# connect all along, takes three segments: none of them is sent again.
. "$(dirname "$0")/lib.sh"
net_up
need python3
need_built
MODE=one
for addr in "$A4" "$A6"; do
	bg a python3 "$TESTS/net/greeter.py" "$addr" 7000
	server=$BG
	wait_tcp a 7000
	b ip neigh flush dev "$DEV_B"
	same "$addr: the neighbour is not known" "" "$(b ip neigh show to "$addr" nud reachable nud stale)"
	bg sb python3 -c '
import socket, sys, time
c = socket.create_connection((sys.argv[1], 7000))
assert c.recv(1) == b"x"
open(sys.argv[2], "w").close()
time.sleep(100)' "$addr" "$TMP/connected"
	client=$BG
	wait_until 20 test -e "$TMP/connected" || fail "$addr: it does not connect"
	rm -f "$TMP/connected"
	same "$addr: the connection is not the kernel's" "" "$(b ss -Htn state established "( dport = :7000 )")"
	stop "$client" "$server"
done
sent_again() { # of the handshakes that a has had
	a nstat -asz TcpRetransSegs TcpExtTCPSYNChallenge | awk '/^Tcp/ { n += $2 } END { print n + 0 }'
}
for addr in "$B4" "$B6"; do
	before=$(sent_again)
	bg a python3 -c '
import socket, sys, time
until = time.monotonic() + 30
while True:
    try:
        c = socket.create_connection((sys.argv[1], 7000))
        break
    except ConnectionRefusedError:
        assert time.monotonic() < until
        time.sleep(0.001)
assert c.recv(1) == b"x"' "$addr"
	client=$BG
	bg sb python3 "$TESTS/net/greeter.py" "$addr" 7000
	server=$BG
	wait "$client" || fail "$addr: it is not greeted"
	same "$addr: what was sent again" "$before" "$(sent_again)"
	stop "$server"
done
done_testing
