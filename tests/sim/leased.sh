#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames that an unprivileged program has in the NIC's queue pair are in flight for the daemon, too: when the program is
# killed, all of them come back, and only once the queue pair has ended.
VERBS=1
. "$(dirname "$0")/lib.sh"
. "$TESTS/net/lib_lease.sh"
lease_up
D=$(daemon_pid)
BIN=$BUILD/tests/net
LEASED_CAPS=,+net_raw # (the only capability)
frames() { "$BIN/frames" "$D" >"$TMP/frames"; }
in_flight() { frames && file_has "$TMP/frames" 'busy 0 .*kernel [1-9][0-9]* twice 0'; }
all_there() { frames && file_has "$TMP/frames" 'dead 0 .*transmit 0 .*returned 0 kernel 0 twice 0'; }
by_verbs() { grep -q 'by verbs (simulated0' "$TMP/sluice.$1".log; }

bg a "$BIN/echo" "$A4" 7000
ECHO=$BG
wait_udp a 7000
bg sb "$BIN/echo" "$B4" 7001 # (keeps the group's packet memory alive)
KEEPER=$BG
wait_udp b 7001
bg sb "$BIN/steady" -i 20000 "$A4" 7000 "$TMP/steady"
wait_until 20 grows "$TMP/steady" 10 || die "no answers"
PROGRAM=$(pid_of "steady -i 20000")
ok "by verbs" by_verbs "$PROGRAM"
same "the NIC stands still" ok "$(nic_control b 'stall 1' | sort -u)"
ok "what it was given is in flight" wait_until 20 in_flight
kill -9 "$PROGRAM"
ok "it comes back" wait_until 20 all_there
[ "$FAILED" = 0 ] || cat "$TMP/frames"
stop "$KEEPER"
stop "$ECHO"
done_testing
