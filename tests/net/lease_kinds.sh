#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user passes the daemon descriptors of every kind, in every request that takes some: each is refused before anything
# is done with it, and none is kept.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
D=$(daemon_pid)
fds_of() { ls "/proc/$D/fd" | wc -l; }
kinds() { b timeout 60 python3 "$TESTS/net/lease_kinds.py" "$TMP/sluiced.b" >"$TMP/kinds" 2>&1; }
# (The daemon keeps files that it opens for the first question of a kind.)
kinds
wait_until 10 leases_are 0 || die "a lease does not end"
before=$(fds_of)
alive_watch
kinds
same "all kinds were asked for" 0 $?
alive_end "descriptors of all kinds"
same "each is refused as of the wrong kind, or for what it is" "" "$(grep -v "^asked" "$TMP/kinds")"
say "$(tail -n 1 "$TMP/kinds")"
ok "the lease ends" wait_until 10 leases_are 0
ok "the daemon keeps none" wait_until 10 eval '[ "$(fds_of)" -le "$before" ]'
same "it is the same daemon" "$D" "$(daemon_pid)"
done_testing
