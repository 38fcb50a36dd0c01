#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Threads of a member of a group change all that the group shares with the daemon, without a pause, while the daemon
# reads it: locks, rings, the account of frames, connections that dead members have left, and packets. Members die in the
# middle of everything meanwhile, and daemons are replaced, by a signal and by force. Every daemon lives and answers,
# and another group's traffic does not notice. Nor does it when members die with as many waiting connections as the file
# of connections can hold: these have all the group's frames each, or are more than there are descriptors; nor when they
# leave connections whose sockets others have, with the same frames in all queues: another user is answered. ROUNDS
# daemons (SHORT: 1, and shared memory alone), SEED repeats the changes.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up -c
ONE=65534 TWO=65533
SOCKET=$TMP/sluiced.b
export SLUICE_DAEMON=$SOCKET
[ -z "${SHORT:-}" ] || ATTACKS=${ATTACKS:-race}
ROUNDS=${ROUNDS:-$([ -n "${SHORT:-}" ] && echo 1 || echo 12)}
said() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$TMP/hostile" | tail -n 1; }
came() { [ "$(grep -c ^dies "$TMP/hostile")" -ge "$1" ]; }
more() { wait_until 20 came $(($(grep -c ^dies "$TMP/hostile") + $1)) || fail "members die no more: $(tail -n 3 "$TMP/hostile")"; }
racer() { # mode; BG is its PID, $TMP/hostile has its output
	bg b setpriv --reuid=$TWO --regid=$TWO --clear-groups "$BIN/hostile" "$SOCKET" "$DEV_BC" "$1" >"$TMP/hostile" 2>"$TMP/hostile.err" # (members that come too fast are refused)
	wait_until 20 grep -q ^writes "$TMP/hostile" || die "$1: $(cat "$TMP/hostile")"
}
goes_on() { # what
	ok "$1: the other group receives" wait_until 20 grows "$TMP/other" $(($(answered "$TMP/other") + 200))
}
slowest=0 # of the daemons' replacements, in ms: a busy machine takes seconds for one
again() {  # signal
	local d from=${EPOCHREALTIME/./} took
	d=$(daemon_pid)
	kill "-$1" "$d"
	wait_until 10 gone "$d" || fail "the daemon does not end"
	daemon_up b "allow user *"
	ok "$1: a new daemon answers" wait_until 10 daemon_answers
	took=$(((${EPOCHREALTIME/./} - from) / 1000))
	slowest=$((took > slowest ? took : slowest))
}

asked() { b setpriv --reuid=$ONE --regid=$ONE --clear-groups python3 "$TESTS/net/asked.py" "$SOCKET" 3; } # answers in 3 s

other_up $ONE
idle=$(asked)
fds() { ls "/proc/$(daemon_pid)/fd" | wc -l; }
limit() { awk '/^Max open files/ { print $4 }' "/proc/$(daemon_pid)/limits"; }
crowded() { # while members die with many connections
	local n most=0
	for _ in {1..20}; do
		n=$(fds)
		most=$((n > most ? n : most))
		nap 100
	done
	ok "these have descriptors, and leave others most ($most of $(limit))" test $most -gt $(($(limit) / 16)) -a $most -le $(($(limit) / 2))
	n=$(b timeout 20 setpriv --reuid=$ONE --regid=$ONE --clear-groups "$BIN/sluiced_stuck" "$SOCKET" honest "$DEV_B")
	same "another user has a lease and a claim ($n)" "(0)" "${n##* }"
}

for mode in ${ATTACKS:-race flood many heirs bulky}; do
	racer $mode
	evil=$BG
	alive_watch
	more 3
	[ $mode != many ] || crowded
	case $mode in
	heirs | bulky)
		n=$(asked)
		ok "$mode: another user has a twentieth of the answers that it has else ($n of $idle)" test $((n * 20)) -ge "$idle"
		;;
	esac
	alive_end "$mode"
	goes_on $mode
	for ((i = 0; i < ROUNDS; i++)); do
		again USR2
		more 2
		again KILL
		more 2
		goes_on "daemon $i"
	done
	ok "$mode: answers came in two seconds and the time for a daemon (at most $(said longest) ms, $slowest, $(grep -c ^dies "$TMP/hostile") members)" \
		test "$(said longest)" -lt $((2000 + slowest))
	say "$(grep ^seed "$TMP/hostile")"
	kill -9 "$evil"
	wait "$evil" 2>/dev/null
	ok "$mode: all leases of the dead end" wait_until 30 leases_are 1
done
stop "$other"
read -r sent got doubled wrong failed _ <"$TMP/other"
same "in all this the other group has lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
same "no daemon died of itself" 0 "$(grep -c -e "AddressSanitizer" -e "Segmentation" -e "runtime error" "$TMP/sluice.db.log")"
done_testing
