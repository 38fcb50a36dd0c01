#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Several processes of one user on one device, through the daemon: each is offloaded; one is killed again and again, the
# others lose nothing, and in the end nothing of the dead is left.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
N=${N:-3} KILLS=${KILLS:-${SHORT:+4}}
KILLS=${KILLS:-10}
D=$(daemon_pid)
fds() { ls "/proc/$D/fd" | wc -l; }
steady_fds() { FDS=$(fds); sleep 0.1; fds_are "$FDS"; }
# (On a busy machine something of the first round may still have been there when they were counted.)
fds_within() { [ "$(fds)" -le "$1" ]; }
fds_are() { [ "$(fds)" = "$1" ]; }
servers=() clients=()
for i in $(seq "$N"); do
	bg sb "$BIN/echo" "$B4" $((7000 + i))
	servers+=("$BG")
	wait_udp b $((7000 + i))
	# (Attaching to the device costs packets under way there, as it does without a daemon.)
	wait_until 20 has_claim $((7000 + i)) || fail "$i is not offloaded"
	bg a "$BIN/steady" -i 1000 "$B4" $((7000 + i)) "$TMP/steady$i"
	clients+=("$BG")
done
for i in $(seq "$N"); do
	ok "$i is answered" wait_until 20 grows "$TMP/steady$i" 100
done
ok "all have a lease on one device" test "$(daemon ports | awk -v d="$DEV_B" '$1 == d { print $5, $6, $7 }')" = "$N $N $N"
offload_begin

# Another process joins, is used over UDP and TCP, and is killed.
for k in $(seq "$KILLS"); do
	bg sb "$BIN/echo" "$B4" 7100
	victim=$BG
	bg sb python3 -c '
import socket, sys
s = socket.create_server((sys.argv[1], 7101))
while True:
    c = s.accept()[0]
    while True:
        d = c.recv(65536)
        if not d:
            break
        c.sendall(d)' "$B4"
	other=$BG
	wait_udp b 7100
	wait_tcp b 7101
	rm -f "$TMP/short"
	a "$BIN/steady" -i 200 -n 2000 "$B4" 7100 "$TMP/short" &
	PIDS+=($!)
	a python3 -c '
import socket, sys
c = socket.create_connection((sys.argv[1], 7101))
c.settimeout(20)
open(sys.argv[2], "w")
try:
    while True:
        c.sendall(bytes(20000))
        n = 0
        while n < 20000:
            d = c.recv(65536)
            if not d:
                sys.exit()
            n += len(d)
except OSError:
    pass' "$B4" "$TMP/talks.$k" &
	peer=$!
	PIDS+=("$peer")
	wait_until 30 test -e "$TMP/talks.$k" || fail "round $k: no connection"
	wait_until 30 grows "$TMP/short" 1 || fail "round $k: no answers by UDP"
	sleep 0.1
	kill -9 "$victim" "$other"
	wait "$victim" "$other" 2>/dev/null
	# (The first TCP connection brings the daemon a guard.)
	[ "$k" != 1 ] || { wait_until 20 leases_are "$N" && wait_until 20 steady_fds; }
	wait_until 20 gone "$peer" || fail "round $k: the peer of a killed connection is not told"
done
ok "the dead have no lease" wait_until 20 leases_are "$N"
ok "and no descriptor" wait_until 20 fds_within "$FDS" || ls -l "/proc/$D/fd"
for i in $(seq "$N"); do
	n=$(answered "$TMP/steady$i")
	ok "$i is still answered" wait_until 20 grows "$TMP/steady$i" $((n + 100))
done
stop "${clients[@]}"
lost=0
for i in $(seq "$N"); do
	read -r sent got doubled wrong failed gap <"$TMP/steady$i"
	lost=$((lost + sent - got))
	say "$i: $sent sent, $got answered, the longest gap $gap ms"
	same "$i: none doubled, wrong or failed" "0 0 0" "$doubled $wrong $failed"
done
ok "the others lost nothing ($lost under way)" test "$lost" -le "$N"
stop "${servers[@]}"
ok "nobody has a lease" wait_until 20 leases_are 0
kill -0 "$D" || fail "the daemon has died"
done_testing
