#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program of whose user more descriptors wait in sockets than RLIMIT_NOFILE allows cannot send the daemon any: the
# socket that it makes then stays with the kernel, and the next one is offloaded. (The user is this test's alone: the
# kernel counts them by user, over all processes.)
LEASED=1
LEASED_UID=$((3000000000 + $$))
. "$(dirname "$0")/lib.sh"
net_up
peer='import socket, sys
for port in (7001, 7002, 7003):
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.settimeout(10)
	s.connect((sys.argv[1], port))
	for i in range(20):
		s.send(b"%d" % i)
		assert s.recv(2048) == b"%d" % i'
by_kernel() { udp_stat b InDatagrams; }
MODE=one
bg sb python3 "$TESTS/net/lease_refs.py" "$B4" >"$TMP/said" 2>&1
wait_line "$TMP/said" ready
before=$(by_kernel)
ok "all three answer" a python3 -c "$peer" "$B4"
n=$(($(by_kernel) - before))
ok "the kernel had the second socket's 20 datagrams and few others: $n" test "$n" -ge 20 -a "$n" -le 26
ok "the daemon is not given up" not grep -q "keep to the protocol" "$TMP"/sluice.*.log
stop "$BG"
done_testing
