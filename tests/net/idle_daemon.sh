#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon whose programs do nothing sleeps: it wakes once a second while nobody has a claim, and four times while
# somebody has.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
D=$(daemon_pid)
wakes() { awk '/^voluntary/ { print $2 }' "/proc/$D/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$D/stat"; }
still() { # what, most wake-ups (some are of sleeps within a turn)
	local n t
	nap 2500 # (after an event it looks more often for a while)
	n=$(wakes) t=$(ticks)
	nap 3000
	n=$(($(wakes) - n)) t=$(($(ticks) - t))
	ok "$1: $n wake-ups in three seconds, $t hundredths of a second of a processor" test $n -le "$2"
}
bg sb python3 -c 'if 1:
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.bind((sys.argv[1], 0))
	s.connect((sys.argv[2], 7000))
	s.close()
	print("closed", flush=True)
	time.sleep(100)' "$B4" "$A4" >"$TMP/closed"
wait_line "$TMP/closed" closed
ok "a program has a lease" leases_are 1
still "no claim" 12
bg sb "$BIN/echo" "$B4" 7001
wait_udp b 7001
bg sb python3 -c 'if 1:
	import os, select, socket, sys
	s = socket.create_server((sys.argv[1], 7002))
	s.setblocking(False)
	os.fork()
	p = select.epoll()
	p.register(s, select.EPOLLIN)
	while True:
		p.poll()
		try: c = s.accept()[0]
		except BlockingIOError: continue
		c.sendall(b"%d" % os.getpid())
		c.close()' "$B4"
wait_tcp b 7002
wait_until 10 has_claim 7001 || fail "no claim of UDP"
wait_until 10 has_claim 7002 || fail "no claim of TCP"
ok "three programs more have one" wait_until 10 leases_are 4
still "three programs with claims" 21
done_testing
