#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The daemon's policy gives a program one lane: sockets that would move to another one stay, are served as before, and
# that is not tried again and again.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
daemon_ends
daemon_starts "allow user * lanes 1"
MODE=one
export SLUICE_STATS_SHMEM_DIR=$TMP
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
bg a python3 "$TESTS/net/migrate.py" serve "$A4" 7001
wait_udp a 7000
wait_udp a 7001
SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" SLUICE_RING=thread)
same "sockets of three threads" "1 lane of 3 sockets, then 1 lanes, 0 moves, 0 shown, 0 with its thread" \
	"$(sb python3 "$TESTS/net/migrate.py" spread "$B4" "$A4" 7000 "$BUILD/sluice")"
n=$(cat "$TMP"/sluice.*.log | grep -c 'lane .* has no place on')
ok "it is said, once for each ($n times)" test "$n" -ge 1 -a "$n" -le 3
done_testing
