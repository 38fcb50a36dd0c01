#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A child that is taken over harms itself: it shuts down, fills or garbles its way to its parent, or ends, and what its
# siblings, its parent's other children and its own parent have inherited goes on. No child has a way of a sibling's, the
# ways of children that have ended are closed, and where there are too many children the log says so.
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
need_built
meet
MODE=one PORT=7900
for attack in shut same fill garble close; do
	PORT=$((PORT + 10))
	bg pb "$BIN/siblings" "$B4" $PORT $attack >"$TMP/$attack"
	wait_tcp b $((PORT + 4))
	a timeout 40 python3 "$TESTS/net/siblings.py" "$B4" $PORT "$TMP/$attack" >"$TMP/client" 2>&1
	same "$attack: what each has inherited goes on" "before mine after mine parent mine grandchild mine connection mine" \
		"$(tr '\n' ' ' <"$TMP/client" | sed 's/ $//')"
	same "$attack: both attackers had ways to attack" 2 "$(grep -c 'an attacker with [1-9]' "$TMP/$attack")"
	wait_end "$BG" 10 || fail "$attack: the server does not end"
done
pb "$BIN/siblings" "$B4" 7990 20 >"$TMP/count"
same "a child has no way but its own" "ways 1" "$(grep ways "$TMP/count")"
same "the ways of children that have ended are closed" "more 0" "$(grep more "$TMP/count")"
if grep -q 'later ones share' "$TMP"/sluice.*.log; then fail "20 children are too many"; else pass "20 children are not too many"; fi
pb prlimit --nofile=256:256 "$BIN/siblings" "$B4" 7991 20 >"$TMP/count"
same "with few descriptors it has no way but one either" "ways 1" "$(grep ways "$TMP/count")"
same "and all are closed" "more 0" "$(grep more "$TMP/count")"
ok "and the log says that children share" grep -q 'later ones share' "$TMP"/sluice.*.log
done_testing
