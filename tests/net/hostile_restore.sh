#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user has the daemon make connections with 32 MB in their queues, without a pause: another user's requests are answered
# about as soon as when they have a few bytes.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
b timeout 60 python3 "$TESTS/net/hostile_restore.py" "$TMP/sluiced.b" "$B4" "$DEV_B" "$A4" >"$TMP/times"
while read -r how few _ made most _ made_much; do
	say "$how: $few ms beside $made small ones, $most ms beside $made_much of 32 MB"
	ok "$how: connections are made" test "$made" -gt 0 -a "$made_much" -gt 0
	ok "$how: another user does not wait for 32 MB" test "$(awk -v a="$few" -v b="$most" 'BEGIN { print b < 3 * a + 3 }')" = 1
done <"$TMP/times"
same "both kinds" 2 "$(wc -l <"$TMP/times")"
ok "the daemon lives" daemon_answers
done_testing
