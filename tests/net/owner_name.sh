#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Any user can bind the socket names by which owners of devices are known, with and without listening, with a full
# backlog: the daemon and a program of root's use the device at once all the same. When two programs of root's want it,
# one has it, as usual.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
D=$(daemon_pid)
index=$(b ip -o link show "$DEV_B" | cut -d: -f1)
squat() { # how: takes the name
	bg b setpriv --reuid 65532 --regid 65532 --clear-groups python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0sluice/port/" + sys.argv[1])
held = []
if sys.argv[2] != "bound":
    s.listen(0)
if sys.argv[2] == "full":
    for i in range(3):
        c = socket.socket(socket.AF_UNIX)
        c.setblocking(False)
        c.connect_ex("\0sluice/port/" + sys.argv[1])
        held.append(c)
print("ready", flush=True)
time.sleep(60)' "$index" "$1" >"$TMP/squat"
	SQUAT=$BG
	wait_until 10 grep -q ready "$TMP/squat" || die "the name cannot be bound"
}
for how in bound listening full; do
	squat $how
	alive_watch
	at=$(date +%s%N)
	bg sb "$BIN/echo" "$B4" 7000
	server=$BG
	wait_udp b 7000
	ok "a stranger's name ($how) does not keep the daemon from the device" wait_until 20 has_claim 7000
	say "after $((($(date +%s%N) - at) / 1000000)) ms"
	ok "and it is told once" test "$(grep -c "user 65532 has bound the name" "$TMP/sluice.db.log")" = 1
	# (The lock is the daemon's: without the name, too, nobody else has the device.)
	stop "$SQUAT"
	rm -f "$TMP"/sluice.[0-9]*.log
	bg b env $(preload_env b) SLUICE_DAEMON=off SLUICE_LOG_FILE="$TMP/second.log" SLUICE_TRACELEVEL=3 "$BIN/echo" "$B4" 7001
	second=$BG
	wait_udp b 7001
	ok "another program of root's does not get it" wait_until 20 file_has "$TMP/second.log" "is used by"
	stop "$second"
	rm -f "$TMP/second.log"
	alive_end "$how"
	stop "$server"
	wait_until 10 leases_are 0 || fail "the lease does not end"
	wait_until 10 not test -e "/sys/fs/bpf/sluice/$DEV_B" || fail "the device is not given back"
done
done_testing
