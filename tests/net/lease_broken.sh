#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A member of a group writes anything into all that the group shares: locks, records, rings. Every daemon lives and
# answers, a restarted one, too. The group ends when a lock is broken, and goes on by the kernel; another group's
# traffic does not notice.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up -c
ONE=65534 TWO=65533
SOCKET=$TMP/sluiced.b
logs() { cat "$TMP/sluice.db.log"; }
no_claim() { ! claim_on "$@"; }
hostile() { # mode; BG is its PID, $TMP/hostile has its output
	bg b setpriv --reuid=$TWO --regid=$TWO --clear-groups "$BIN/hostile" "$SOCKET" "$DEV_BC" "$1" >"$TMP/hostile"
	wait_until 20 grep -q "^writes" "$TMP/hostile" || fail "$1: $(cat "$TMP/hostile")"
}
said() { # prints the number behind a word of the output's last line
	sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$TMP/hostile" | tail -n 1
}
asks() { [ "$(said asked)" -ge "$1" ]; }
# Asserts that the daemon answers any request while the member writes, in less than two seconds: 100 times the usual time.
answers() { # what
	local n
	n=$(said asked)
	wait_until 20 asks $((${n:-0} + 20)) || fail "$1: the daemon does not answer the member: $(tail -n 2 "$TMP/hostile")"
	ok "$1: each answer came in two seconds ($(said longest) ms)" test "$(said longest)" -lt 2000
	ok "$1: and others are answered" timeout 2 "$BUILD/sluice" daemon status >"$TMP/status"
}
goes_on() { # what: asserts that the other group's traffic goes on
	local n
	n=$(answered "$TMP/other")
	ok "$1: the other group receives" wait_until 20 grows "$TMP/other" $((n + 200))
}
kill_hostile() {
	kill -9 "$BG"
	wait "$BG" 2>/dev/null
	wait_until 20 leases_are "$1" && wait_until 20 memories_are "$1" || { fail "the dead member's lease stays"; logs | tail -n 5; }
}
memories_are() { [ "$(grep -c "memfd:sluice-umem" "/proc/$(daemon_pid)/maps")" = "$1" ]; }
again() { # replaces the daemon by a new one
	local d
	d=$(daemon_pid)
	kill -9 "$d"
	wait_until 10 gone "$d" || fail "the daemon does not end"
	daemon_up b "allow user *"
	wait_until 10 daemon_answers || { fail "the new daemon does not live"; logs | tail -n 5; }
}
export SLUICE_DAEMON=$SOCKET

# Members must only read these files, and root's programs cannot write them either: those of the daemon that is there,
# and those of the next one. (A device is let go a moment after the lease has ended, and until then another group's
# program that starts stays with the kernel.)
# look PREFIX: PREFIX is a command that runs it as another user. False: the kernel has not closed the AF_XDP socket of
# the lease before.
look() {
	b $1 "$BIN/hostile" "$SOCKET" "$DEV_B" look >"$TMP/look" 2>&1
	! file_has "$TMP/look" 'another program has an AF_XDP socket'
}
looks() { # PREFIX
	wait_until 20 look "$1"
	same "${1:-root}: what the daemon alone writes can be read only" \
		"told not-mapped not-opened not-changed not-cut; rules not-mapped not-opened not-changed not-cut; " "$(tr '\n' ';' <"$TMP/look" | sed 's/;/; /g')"
	wait_until 20 leases_are 0 && wait_until 20 test ! -e "/sys/fs/bpf/sluice/$DEV_B" || fail "the device is not let go"
}
looks ""
looks "setpriv --bounding-set=-all --inh-caps=-all"

echo_as $ONE "$B4" 7001
wait_until 10 claim_on "$DEV_B" 7001 || die "the first group is not offloaded"
bg a "$BIN/steady" -i 1000 "$B4" 7001 "$TMP/other"
other=$BG
wait_until 20 grows "$TMP/other" 100 || die "no answers"

# A lock that names the daemon itself: the group ends, and nothing else.
echo_as $TWO "$B4C" 7002
honest=$BG
wait_until 10 claim_on "$DEV_BC" 7002 || fail "the second group is not offloaded"
bg c "$BIN/steady" -i 1000 "$B4C" 7002 "$TMP/honest"
talker=$BG
wait_until 20 grows "$TMP/honest" 100 || fail "no answers from the second group"
hostile lock
evil=$BG
same "what the daemon tells can be read only" "told not-mapped not-opened not-changed not-cut" "$(grep ^told "$TMP/hostile")"
same "and the rules" "rules not-mapped not-opened not-changed not-cut" "$(grep ^rules "$TMP/hostile")"
answers "a broken lock"
ok "the log says which group, and what to do" wait_until 10 grep -q \
	"group uid:$TWO has broken the memory .*Remedy: end all programs of the group" "$TMP/sluice.db.log"
same "once" 1 "$(logs | grep -c "has broken the memory")"
ok "its honest program leaves the device" wait_until 20 no_claim "$DEV_BC" 7002
in=$(udp_stat b InDatagrams)
ok "and goes on" wait_until 20 grows "$TMP/honest" $(($(answered "$TMP/honest") + 500))
ok "by the kernel" test $(($(udp_stat b InDatagrams) - in)) -ge 400
stop "$talker"
echo_as $TWO "$B4C" 7003
ok "who comes to that group is told why not" wait_until 10 grep -q "group uid:$TWO has broken" "$TMP"/sluice.[0-9]*.log
goes_on "a broken lock"
later=$BG
ok "the member that stays is hung up on" wait_until 20 grep -q "keeps devices of a broken group" "$TMP/sluice.db.log"
kill -9 "$evil"
wait "$evil" 2>/dev/null
stop "$later" "$honest"
ok "the group has ended" wait_until 20 leases_are 1
ok "and its memory with it" wait_until 20 memories_are 1
echo_as $TWO "$B4C" 7004
ok "and begins anew" wait_until 10 claim_on "$DEV_BC" 7004
stop "$BG"
ok "with the last it is gone" wait_until 20 memories_are 1

# Locks are broken before the device is opened, which takes frames: the daemon opens or refuses it without waiting.
hostile early
ok "broken early: others are answered" timeout 2 "$BUILD/sluice" daemon status >"$TMP/status"
goes_on "broken early"
kill_hostile 1
goes_on "broken early, dead"

# The member writes anything anywhere, and lives on, is killed, or is killed with the daemon.
for mode in rubbish once both; do
	hostile $mode
	answers "$mode"
	goes_on "$mode"
	kill_hostile 1
	goes_on "$mode, dead"
done

# Five new daemons (SHORT: two) take over while it writes; it dies under each second one.
hostile rubbish
for k in $(seq "$([ -n "${SHORT:-}" ] && echo 2 || echo 5)"); do
	again
	ok "daemon $k lives" daemon_answers
	goes_on "daemon $k"
	[ "$((k % 2))" = 1 ] || {
		kill_hostile 1
		ok "daemon $k buries it" daemon_answers
		[ "$k" = 4 ] && hostile both || hostile once
	}
done
kill_hostile 1
stop "$other"
read -r sent got doubled wrong failed _ <"$TMP/other"
same "in all this the other group has lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
same "no daemon died of itself" 0 "$(grep -c -e "AddressSanitizer" -e "Segmentation" "$TMP/sluice.db.log")"
done_testing
