#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program has a claim; then another user opens a socket to which the kernel would give the packets as well, or
# instead. The daemon takes the claim back, and both sockets receive the same as without Sluice.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
mcast_routes
# (Not `not has_claim`, which would be true if the map could not be read.)
no_claim() {
	local map
	map=$(bpftool map dump pinned "/sys/fs/bpf/sluice/$DEV_B/endpoints" 2>/dev/null) && ! grep -q "\"local_port\": $1" <<<"$map"
}
told() { grep -c "port $1 is the kernel's again" "$TMP/sluice.db.log"; }
blast() { a "$BUILD/tests/bench/udpblast" "$1" "$2" count=200 rate=5000 >/dev/null; wait_until 5 eval "[ \"\$(udp_queued b $2)\" = 0 ]"; }
bg sb python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7600 >"$TMP/we"
we=$BG
wait_line "$TMP/we" joined
ok "the program's group is claimed" wait_until 10 has_claim 7600
blast 239.7.7.7 7600
bg b python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7600 >"$TMP/they"
they=$BG
wait_line "$TMP/they" joined
ok "until another user joins it" wait_until 20 no_claim 7600
blast 239.7.7.7 7600
stop "$we" "$they"
same "the program has all that was sent" 400 "$(tail -n 1 "$TMP/we")"
same "the other one all since then" 200 "$(tail -n 1 "$TMP/they")"

bg sb python3 "$TESTS/net/taken_back.py" 0.0.0.0 7601 >"$TMP/we"
we=$BG
wait_line "$TMP/we" bound
ok "the program's wildcard is claimed" wait_until 10 has_claim 7601
blast "$B4" 7601
bg b python3 "$TESTS/net/taken_back.py" "$B4" 7601 >"$TMP/they"
they=$BG
wait_line "$TMP/they" bound
ok "until another user has the address" wait_until 20 no_claim 7601
blast "$B4" 7601
stop "$they"
blast "$B4" 7601
stop "$we"
same "the program has all but what was the other's" 400 "$(tail -n 1 "$TMP/we")"
same "who has that" 200 "$(tail -n 1 "$TMP/they")"
same "the daemon says so once" 1 "$(told 7601)"
done_testing
