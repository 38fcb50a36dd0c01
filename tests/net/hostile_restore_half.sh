#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A connection whose queues the daemon has filled in part, when the request had to be refused, is not given to its user: its
# socket is in repair mode, which takes privileges.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
b timeout 60 python3 "$TESTS/net/hostile_restore_half.py" "$TMP/sluiced.b" "$B4" "$DEV_B" "$A4" "$(daemon_pid)" >"$TMP/got"
for how in live ended; do # EBUSY, then ENOENT
	same "$how: refused, and nothing is given" "$how -16 -2 0" "$(grep "^$how" "$TMP/got")"
done
ok "the daemon lives" daemon_answers
done_testing
