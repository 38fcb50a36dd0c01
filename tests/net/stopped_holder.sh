#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A member of a group is stopped (SIGSTOP) while it holds all locks of the group: the daemon answers, it serves programs of
# other groups in two seconds, the next daemon, too, and ends the group's sharing: its other programs go on by the kernel
# within a second or two. The stopped one keeps its lease, and with its end a new group begins.
. "$(dirname "$0")/lib_lease.sh"
lease_up -c
ONE=65534 TWO=65533
as() { b timeout 30 setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"; }
flows() { # FILE WHAT: 200 answers in two seconds, an answer takes a millisecond or less
	ok "$2" wait_until 2 grows "$TMP/$1" $(($(answered "$TMP/$1") + 200))
}
served() { # WHEN
	local told
	told=$(as $ONE "$BIN/sluiced_stuck" "$TMP/sluiced.b" honest "$DEV_B")
	same "$1: another user has a lease and a claim in two seconds ($told)" "(0) 0" "${told##* } $?"
	flows other "$1: the other group goes on"
	flows group "$1: the group goes on"
}
has_ended() { grep -c "group uid:$TWO has broken the memory .* process $stopped .*, which is stopped" "$TMP/sluice.db.log"; }
refused() { # WHEN
	told=$(as $TWO "$BIN/sluiced_stuck" "$TMP/sluiced.b" honest "$DEV_BC")
	same "$1: one more program of the group is told soon that it has ended ($told)" "(-108)" "${told##* }"
}
echo_as $ONE "$B4" 7001
echo_as $TWO "$B4C" 7002
honest=$BG
wait_until 10 has_claim 7001 || die "nothing is offloaded"
bg a "$BIN/steady" -i 1000 "$B4" 7001 "$TMP/other"
other=$BG
bg c "$BIN/steady" -i 1000 "$B4C" 7002 "$TMP/group"
steady=$BG
wait_until 20 grows "$TMP/other" 100 && wait_until 20 grows "$TMP/group" 100 || die "no answers"
bg b setpriv --reuid=$TWO --regid=$TWO --clear-groups "$BIN/hostile" "$TMP/sluiced.b" "$DEV_BC" hold >"$TMP/hostile"
wait_line "$TMP/hostile" writes
stopped=$BG
alive_watch
ok "the group's sharing ends in two seconds" wait_until 2 eval '[ "$(has_ended)" = 1 ]'
served "stopped"
refused "stopped"
ok "its honest program leaves the device" wait_until 5 eval '! claim_on "$DEV_BC" 7002'
in=$(udp_stat b InDatagrams)
flows group "stopped: the group goes on, moved"
ok "by the kernel" test $(($(udp_stat b InDatagrams) - in)) -ge 150
hung_up() { grep -q "process $1 (.*hung up on" "$TMP/sluice.db.log"; }
[ -n "${SHORT:-}" ] || {
	ok "a process that runs and keeps the device is hung up on" wait_until 10 hung_up "$honest"
	nap 500
	ok "the stopped one is not" eval '! hung_up "$stopped"'
}
alive_end "a member is stopped with all locks"
kill -9 "$(daemon_pid)"
wait_until 10 eval '[ -z "$(daemon_pid)" ]'
daemon_up b "allow user *"
wait_until 10 daemon_answers || fail "no daemon goes on"
ok "the next daemon ends it, too" wait_until 2 eval '[ "$(has_ended)" = 2 ]'
served "by the next daemon"
refused "by the next daemon"
n=$(leases)
kill -9 "$stopped"
ok "its lease ends with it" wait_until 10 eval '[ "$(leases)" -lt "$n" ]'
served "afterwards"
kill "$steady" "$other"
wait_end "$steady" 10
wait_end "$other" 10
read -r _ _ _ _ _ others <"$TMP/other"
read -r sent got doubled wrong failed gap <"$TMP/group"
say "the group: $sent sent, $((sent - got)) lost, longest gap $gap ms"
same "none of its packets was another's" "0 0" "$doubled $wrong"
# (The other group's traffic, of the same pace at the same time, shows how long the machine itself stood still.)
ok "it stood still for no longer than two seconds more than the other group ($others ms)" test "$gap" -le $((2000 + others))
stop "$honest"
ok "the group has ended" wait_until 20 leases_are 1
echo_as $TWO "$B4C" 7003
ok "and begins anew" wait_until 10 claim_on "$DEV_BC" 7003
read -r sent got doubled wrong failed _ <"$TMP/other"
same "the other group lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
done_testing
