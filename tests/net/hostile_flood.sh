#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user sends the daemon requests with 253 descriptors each, without a pause: the daemon answers another user meanwhile,
# its loop waits for no thread that closes them, and it has none of them at the end.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
unsanitized "strace and the sanitizers do not go together"
lease_up
echo "allow user *" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
fds() { ls "/proc/$(daemon_pid)/fd" | wc -l; }
before=$(fds)
# (The loop's other waits for threads are of another kind.)
bg b strace -qq -e trace=futex -o "$TMP/waits" -p "$(daemon_pid)" 2>/dev/null
strace=$BG
b timeout 60 python3 "$TESTS/net/hostile_flood.py" "$TMP/sluiced.b" "$DEV_B" 0.7 >"$TMP/flood"
same "it came to its end" 0 $?
read -r _ alone <"$TMP/flood"
n=$(sed -n 's/^flood //p' "$TMP/flood")
ok "a twentieth of the answers that come otherwise ($n of $alone)" test $((n * 20)) -ge "$alone"
stop "$strace"
same "the loop does not wait for the threads" 0 "$(grep -c FUTEX_WAIT_BITSET "$TMP/waits")"
few() { [ "$(fds)" -le $((before + 8)) ]; }
ok "the daemon has closed them ($before descriptors before)" wait_until 10 few
done_testing
