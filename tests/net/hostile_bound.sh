#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user of the daemon claims the TCP flows of connections that the next user of a port is going to have: these connect
# and accept as by the kernel, but for a lost SYN.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
b timeout 60 python3 "$TESTS/net/hostile_bound.py" "$TMP/sluiced.b" "$DEV_B" "/run/netns/${NS}a" \
	"$B4" "$B6" "$A4" "$A6" >"$TMP/hostile" 2>&1
same "nothing was taken from another user" 0 $?
grep -v '^ok' "$TMP/hostile"
same "it came to its end" 3 "$(grep -c '^ok\|^FAILED' "$TMP/hostile")"
ok "the daemon lives" daemon_answers
done_testing
