#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user of the daemon claims what the kernel would give to another user's sockets: before and after
# these are bound the victim gets what it gets by the kernel.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
mcast_routes
b timeout 120 python3 "$TESTS/net/hostile.py" "$TMP/sluiced.b" "$DEV_B" "/run/netns/${NS}a" \
	"$B4" "$B6" "$A4" "$A6" >"$TMP/hostile" 2>&1
same "nothing was taken from another user" 0 $?
grep -v '^ok' "$TMP/hostile"
ok "it came to its end" test "$(grep -c '^ok\|^FAILED' "$TMP/hostile")" -gt 100
ok "the daemon lives" daemon_answers
done_testing
