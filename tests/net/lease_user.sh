#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A lease belongs to a process and its user: the daemon hangs up on a process that has another user, other groups or
# fewer capabilities than at its greeting, and gives it nothing.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
version=$(sed -n 's/^#define SL_LEASE_VERSION *//p' "$TOP/lib/ctl/lease/proto.h")
b timeout 60 python3 "$TESTS/net/lease_user.py" "$TMP/sluiced.b" "$version" >"$TMP/b" 2>&1
for what in "nothing" "the same user once more" "effective user, for a moment" "root's groups" "root's saved group" \
	"nothing, small"; do
	same "$what" "$what: has it" "$(grep "^$what:" "$TMP/b")"
done
for what in user "real user" "saved user" "saved group" groups capabilities "user, small" "real user, small"; do
	same "$what" "$what: refused, then hung up" "$(grep "^$what:" "$TMP/b")"
done
for what in "a child" "a child, small"; do
	same "$what" "$what: refused, then -1" "$(grep "^$what:" "$TMP/b")"
done
ok "their leases have ended" wait_until 10 leases_are 0
done_testing
