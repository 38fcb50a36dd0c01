#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The daemon dies while it buries a process, whose lane gets no packets any more. The next daemon does not take that for
# the end of the device: a question that it finds waiting, before the burial goes on, is answered as before.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
lease_up
daemon_ends
# The kernel's grace period does not end, and with it the burial.
DAEMON_BY=(strace -f -D -qq -o "$TMP/trace" -e trace=membarrier -e "inject=membarrier:delay_enter=60000000")
daemon_starts "allow user *"
index=$(ip -n "${NS}b" -o link show "$DEV_B" | cut -d: -f1)
mkfifo "$TMP/in" "$TMP/none"
exec 8<>"$TMP/in" 9<>"$TMP/none"
b python3 "$TESTS/net/sluiced_muted.py" "$TMP/sluiced.b" "$index" <"$TMP/in" >"$TMP/stays" &
PIDS+=("$!")
wait_until 20 grep -q ready "$TMP/stays" || fail "no lease for the first process"
b python3 "$TESTS/net/sluiced_muted.py" "$TMP/sluiced.b" "$index" <"$TMP/none" >"$TMP/dies" 2>/dev/null &
PIDS+=("$!")
wait_until 20 grep -q ready "$TMP/dies" || fail "no lease for the second process"
echo >&8
wait_until 20 grep -q alive "$TMP/stays" || fail "the daemon does not answer"
kill -9 $(pid_of "sluiced_muted.py $TMP/sluiced.b" | tail -n 1)
ok "the lane of the dead process is muted" wait_until 20 grep -q membarrier "$TMP/trace"
D=$(daemon_pid)
# (strace goes last, or else the burial would go on.)
kill -9 "$D" "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$D/status")"
wait_until 20 gone "$D" || fail "the daemon does not die"
echo >&8
DAEMON_BY=()
daemon_up b "allow user *"
ok "the next daemon answers the question that waited" wait_until 20 eval '[ "$(grep -c alive "$TMP/stays")" = 2 ]'
same "and says what the first one said" "$(grep -m 1 alive "$TMP/stays")" "$(grep alive "$TMP/stays" | tail -n 1)"
done_testing
