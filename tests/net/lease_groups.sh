#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes that share packet memory through the daemon: all of a user; those of two users in a group, by a name that
# the policy lets them use; or none. While a group has the device, other groups stay with the kernel; their log, the
# daemon's log and `sluice daemon ports` say so.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
D=$(daemon_pid)
ONE=65534 TWO=65533 PORT=7000
policy() {
	printf '%s\n' "$@" >"$TMP/sluiced.b.conf"
	# (The log already has a line for each earlier reading: count them first.)
	local n
	n=$(grep -c "read again" "$TMP/sluice.db.log")
	kill -HUP "$D"
	wait_until 10 test_more "$n" || die "the policy is not read"
}
test_more() { [ "$(grep -c "read again" "$TMP/sluice.db.log")" -gt "$1" ]; }
run() { # user, group: an echo server; its number is BG, its port PORT
	PORT=$((PORT + 1))
	rm -f "$TMP"/sluice.[0-9]*.log
	LEASED_UID=$1 SL_ENV=("SLUICE_GROUP=$2")
	bg sb "$BIN/echo" "$B4" "$PORT"
	unset LEASED_UID
	SL_ENV=()
	wait_udp b "$PORT"
}
answers() {
	bg a "$BIN/steady" -i 1000 -n 200 "$B4" "$1" "$TMP/steady"
	wait_end "$BG" 30 && [ "$(answered "$TMP/steady")" -ge 199 ]
}
group_of() { daemon leases | awk -v p="$1" '$2 == p { print $5 }'; }
has_memory() { daemon leases | awk -v p="$1" '$2 == p && $8 > 0 { n++ } END { exit !n }'; }
memory_of() { # pid: prints the inode of the packet memory that it has mapped
	awk '/memfd:sluice-umem/ { print $5; exit }' "/proc/$1/maps"
}
ports() { daemon ports | grep "^$DEV_B "; }
told() { wait_until 10 grep -q -e "$1" "$TMP"/sluice.[0-9]*.log; }
nobody() { wait_until 20 leases_are 0 || fail "leases are left"; }

# Groups by user.
run "$ONE" user
first=$BG
ok "a user's process is offloaded" wait_until 10 has_claim "$PORT"
same "its group is the user's" "uid:$ONE" "$(group_of "$first")"
ok "and the device is that group's" test "$(ports | awk '{ print $8 }')" = "uid:$ONE"
run "$TWO" user
second=$BG
ok "another user's is told that it stays with the kernel" told "group uid:$ONE has .*group uid:$TWO, stays with the kernel"
ok "the daemon's log has it" grep -q "process $second .*refused: .*group uid:$TWO, stays with the kernel" "$TMP/sluice.db.log"
ok "so does the list of devices" file_has <(ports) "kernel for 1 of other groups"
ok "by the kernel it works" answers "$PORT"
ok "it has no claim" not has_claim "$PORT"
stop "$second"
ok "gone, it is in no list" not file_has <(ports) "other groups"
stop "$first"
nobody

# Groups by name, which a program may use only if the policy says so.
run "$ONE" feed
ok "a group with a name needs the policy" told "does not let user $ONE join group feed"
ok "and who is refused works by the kernel" answers "$PORT"
stop "$BG"
for name in "uid:$TWO" "lease:1" "a b"; do
	run "$ONE" "$name"
	ok "nobody asks for '$name'" told "a group's name has"
	stop "$BG"
done
policy "allow user $ONE join feed" "allow user $TWO join feed,book-*"
run "$ONE" feed
first=$BG one=$PORT
run "$TWO" feed
second=$BG two=$PORT
ok "two users of one group are offloaded" wait_until 10 has_claim "$one"
ok "both of them" wait_until 10 has_claim "$two"
same "the group bears its name" "feed feed" "$(group_of "$first") $(group_of "$second")"
same "they have one packet memory" "$(memory_of "$first")" "$(memory_of "$second")"
offload_begin
ok "the one answers" answers "$one"
ok "and the other" answers "$two"
same "none of it by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
run "$TWO" user
ok "that user's others are not in it" told "group feed has .*group uid:$TWO, stays"
stop "$BG"
run "$ONE" book-1
ok "nor in a group that only the other may join" told "does not let user $ONE join group book-1"
stop "$BG"
kill -9 "$first"
wait "$first" 2>/dev/null
ok "one is killed" wait_until 20 leases_are 1
offload_begin
ok "the other user's process answers" answers "$two"
same "still not by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
stop "$second"
nobody

# With "none" each process has a group of its own.
run "$ONE" none
first=$BG one=$PORT
ok "a process alone is offloaded" wait_until 10 has_claim "$one"
ok "in a group of its own" file_has <(group_of "$first") "^lease:"
run "$ONE" none
second=$BG
ok "another of the same user is not in it" told "stays with the kernel"
ok "nor has it any packet memory" test -z "$(memory_of "$second")"
ok "the kernel does its work" answers "$PORT"
run "$ONE" user
ok "nor is one of the user's group" told "stays with the kernel"
stop "$BG" "$second"
# A device that is kept for a process in exec is given to no other group.
kill -9 "$first"
wait "$first" 2>/dev/null
nobody
run "$ONE" none
ok "when it has ended the next one is offloaded" wait_until 10 has_claim "$PORT"
stop "$BG"
nobody

# The groups outlive the daemon.
run "$TWO" book-1
first=$BG one=$PORT
ok "a group that a pattern allows" wait_until 10 has_claim "$one"
run "$ONE" user
second=$BG
ok "one of another group is told" told "stays with the kernel"
kill -9 "$D"
wait_until 10 gone "$D"
daemon_up b "allow user *"
wait_until 10 daemon_answers || die "no daemon answers"
D=$(daemon_pid)
ok "the next daemon knows the group" wait_until 10 test "$(group_of "$first")" = book-1
ok "and who is not of it" file_has <(ports) "kernel for 1 of other groups"
ok "which it offloads as before" answers "$one"
stop "$first" "$second"
nobody
done_testing
