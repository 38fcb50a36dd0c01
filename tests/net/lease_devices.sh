#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon serves two groups, each with a device: each has its own packet memory, neither notices when the other's
# programs or the daemon die, and each device still belongs to its group afterwards.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up -c
D=$(daemon_pid)
ONE=65534 TWO=65533
run() { # user, host's address, port: an echo server; its number is BG
	rm -f "$TMP"/sluice.[0-9]*.log
	LEASED_UID=$1
	bg sb "$BIN/echo" "$2" "$3"
	unset LEASED_UID
	wait_udp b "$3"
}
group_of() { daemon ports | awk -v d="$1" '$1 == d { print $8 }'; }
memory_of() { awk '/memfd:sluice-umem/ { print $5; exit }' "/proc/$1/maps"; }
memories() { grep -c "memfd:sluice-umem" "/proc/$D/maps"; }
told() { wait_until 10 grep -q -e "$1" "$TMP"/sluice.[0-9]*.log; }
is_free() { [ -z "$(group_of "$1")" ]; }
test_memories() { [ "$(memories)" = "$1" ]; }
client() { # host, address, port, file
	bg "$1" "$BIN/steady" -i 500 "$2" "$3" "$4"
	wait_until 20 grows "$4" 100 || fail "no answers from $2:$3"
}
whole() { # the client's PID and file
	local sent got doubled wrong failed
	stop "$1"
	read -r sent got doubled wrong failed _ <"$2"
	same "nothing is lost or wrong" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
}

run "$ONE" "$B4" 7001
one=$BG
ok "one user's process is offloaded" wait_until 10 claim_on "$DEV_B" 7001
run "$TWO" "$B4C" 7002
two=$BG
ok "and another user's, on the other device" wait_until 10 claim_on "$DEV_BC" 7002
same "each device is a group's" "uid:$ONE uid:$TWO" "$(group_of "$DEV_B") $(group_of "$DEV_BC")"
ok "each group has its memory" test "$(memory_of "$one")" != "$(memory_of "$two")"
same "of which there are two" 2 "$(memories)"
run "$TWO" "$B4" 7003
third=$BG
ok "on the device of the other group one is told to stay with the kernel" \
	told "group uid:$ONE has the queues of $DEV_B: .*group uid:$TWO, stays with the kernel"
ok "the list of devices has it" file_has <(daemon ports | grep "^$DEV_B ") "kernel for 1 of other groups"
ok "and not for the device that is its own group's" not file_has <(daemon ports | grep "^$DEV_BC ") "other groups"
client a "$B4" 7003 "$TMP/third"
c3=$BG
client a "$B4" 7001 "$TMP/one"
c1=$BG
client c "$B4C" 7002 "$TMP/two"
c2=$BG

# The daemon dies.
kill -9 "$D"
wait_until 10 gone "$D"
daemon_up b "allow user *"
wait_until 10 daemon_answers || die "no daemon answers"
D=$(daemon_pid)
same "the next one knows both groups" "uid:$ONE uid:$TWO" "$(group_of "$DEV_B") $(group_of "$DEV_BC")"
same "and both memories" 2 "$(memories)"
n=$(answered "$TMP/one") m=$(answered "$TMP/two")
ok "the one is answered" wait_until 20 grows "$TMP/one" $((n + 200))
ok "and the other" wait_until 20 grows "$TMP/two" $((m + 200))
ok "still by us" claim_on "$DEV_BC" 7002

# Kill one group.
stop "$c3"
stop "$third"
kill -9 "$one"
wait "$one" 2>/dev/null
stop "$c1"
ok "when a group has ended its device is free" wait_until 20 is_free "$DEV_B"
ok "its memory is gone" wait_until 10 test_memories 1
run "$TWO" "$B4" 7004
fourth=$BG
ok "the other group may have it" wait_until 10 claim_on "$DEV_B" 7004
same "by its one memory" 1 "$(memories)"
run "$ONE" "$B4" 7005
ok "and the first, which comes again, has none" told "stays with the kernel"
same "nor any memory" "" "$(memory_of "$BG")"
whole "$c2" "$TMP/two"

# A user may have only so many groups of its own, so a user cannot take all packet memory.
D=$(daemon_pid)
stop "$two" "$fourth" "$BG"
wait_until 20 leases_are 0 || fail "leases are left"
out=$(sb env -u LD_PRELOAD python3 - "$TMP/sluiced.b" "$TESTS/net" <<'PY'
import os, sys
sys.path.append(sys.argv[2])
from leaselib import call, dial
ns = os.open("/proc/self/ns/net", os.O_RDONLY)
held, given = [], 0
for i in range(10):
    s = dial(sys.argv[1])
    held.append(s)
    if call(s, "HELLO", b"none".ljust(48, b"\0"), [ns])[0]:
        sys.exit("not greeted")
    given += call(s, "UMEM")[0] == 0
print(given)
PY
)
same "a user has the memory of four groups at most" 4 "$out"
ok "which goes with them" wait_until 20 test_memories 0
done_testing
