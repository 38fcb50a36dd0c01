#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# With TCP_CTL_THREAD the keeper handles handshakes and timers, while the program's thread turns the lane all the time.
. "$(dirname "$0")/lib.sh"
net_up
need python3
need_built
MODE=one
N=20
run() { # expected, setting
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "${@:2}")
	bg sb python3 "$TESTS/net/tcp_ctl.py" serve "$B4" "$A4" 7000 "$BUILD/sluice" $N "$TMP/out"
	ok "it listens" wait_until 10 grep -qs listens "$TMP/out"
	ok "all clients are served, ${*:2}" a timeout 60 python3 "$TESTS/net/tcp_ctl.py" call "$B4" 7000 $N
	wait "$BG"
	same "the keeper's part, ${*:2}" "0 left, 0 wrong, $1" "$(sed 1d "$TMP/out")"
	rm -f "$TMP/out"
}
run "0 segments by the keeper, not all timers" SLUICE_TCP_CTL_THREAD=0
run "all segments by the keeper, all timers" SLUICE_TCP_CTL_THREAD=1
run "all segments by the keeper, all timers" VMA_TCP_CTL_THREAD=no_wakeup

# With no_wakeup a SYN that the program's thread has taken off the ring waits for the keeper, so long at most.
handshake() { # TIMER_RESOLUTION_MSEC: prints the milliseconds of the slowest of five
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" SLUICE_TCP_CTL_THREAD=2 "SLUICE_TIMER_RESOLUTION_MSEC=$1")
	rm -f "$TMP/out"
	bg sb python3 -c 'import select, socket, sys
s = socket.create_server((sys.argv[1], 7001))
print("listens", flush=True)
p = select.poll()
p.register(s)
while True:
	if p.poll(0): # (each turns the lane)
		s.accept()' "$B4" >"$TMP/out"
	wait_line "$TMP/out" listens
	a python3 -c 'import socket, sys, time
def took():
	t = time.monotonic()
	socket.create_connection((sys.argv[1], 7001)).close()
	return time.monotonic() - t
print(round(1000 * max(took() for _ in range(5))))' "$B4"
	stop "$BG"
}
short=$(handshake 10) long=$(handshake 200)
ok "TIMER_RESOLUTION_MSEC: a handshake waits longer ($short ms, $long ms)" test "$long" -ge $((short + 50))
done_testing
