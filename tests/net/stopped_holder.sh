#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A member of a group is stopped (SIGSTOP) while it holds all locks of the group: the daemon answers, it serves programs of
# other groups and of this one in two seconds, the next daemon, too, and the member's end frees the locks. (Packets of the
# group wait until then: sluice-security(7), "Harm other members of its group".)
. "$(dirname "$0")/lib_lease.sh"
lease_up -c
ONE=65534 TWO=65533
echo_as() { # user, address, port; its number is BG
	LEASED_UID=$1
	bg sb "$BIN/echo" "$2" "$3"
	unset LEASED_UID
	wait_udp b "$3"
}
as() { b timeout 30 setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"; }
flows() { # FILE WHAT: 200 answers in two seconds, an answer takes a millisecond or less
	ok "$2" wait_until 2 grows "$TMP/$1" $(($(answered "$TMP/$1") + 200))
}
served() { # WHEN
	local told
	told=$(as $TWO "$BIN/sluiced_stuck" "$TMP/sluiced.b" honest "$DEV_BC")
	same "$1: one more program of the group has a lease and a claim in two seconds ($told)" "(0) 0" "${told##* } $?"
	told=$(as $ONE "$BIN/sluiced_stuck" "$TMP/sluiced.b" honest "$DEV_B")
	same "$1: another user, too ($told)" "(0)" "${told##* }"
	flows other "$1: the other group goes on"
}
echo_as $ONE "$B4" 7001
echo_as $TWO "$B4C" 7002
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
served "stopped"
alive_end "a member is stopped with all locks"
kill -9 "$(daemon_pid)"
wait_until 10 eval '[ -z "$(daemon_pid)" ]'
daemon_up b "allow user *"
wait_until 10 daemon_answers || fail "no daemon goes on"
served "by the next daemon"
n=$(leases)
kill -9 "$stopped"
ok "its lease ends with it" wait_until 10 eval '[ "$(leases)" -lt "$n" ]'
served "afterwards"
flows group "the group goes on"
kill "$steady" "$other"
wait_end "$steady" 10
wait_end "$other" 10
read -r sent got doubled wrong failed gap <"$TMP/group"
say "the group: $sent sent, $((sent - got)) lost, longest gap $gap ms"
same "none of its packets was another's" "0 0" "$doubled $wrong"
read -r sent got doubled wrong failed _ <"$TMP/other"
same "the other group lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
done_testing
