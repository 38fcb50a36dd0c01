#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs listen on their first device when the keeper sleeps without a tick already, and make no call any more: the keeper
# learns of the device and answers, so no SYN is sent twice. Whether the keeper happens to wake only after the device is open
# is a matter of chance: ROUNDS programs, one after the other.
MODES=${MODES:-oracle one}
MODES=${MODES/both/one}
. "$(dirname "$0")/lib.sh"
need python3
net_up
again() { "$BIN/counters" Tcp RetransSegs "/run/netns/${NS}a"; }
for MODE in $MODES; do
	sent=$(again)
	for ((i = 0; i < ${ROUNDS:-6}; i++)); do
		rm -f "$TMP/listens"
		bg a timeout 20 python3 "$TESTS/net/late_open.py" ask "$B4" "$TMP/listens" >"$TMP/answer"
		client=$BG
		bg pb python3 "$TESTS/net/late_open.py" serve "$B4" "$TMP/listens"
		wait_end "$client" 30
		same "$MODE, program $i: it answers" None "$(<"$TMP/answer")"
		stop "$BG"
		[ "$MODE" != kernel ] || break
	done
	sent=$(($(again) - sent))
	# (A machine that does not wake a process for a second has one sent again.)
	ok "$MODE: no SYN is sent again ($sent of $i)" test $sent -le $((i / 3))
done
done_testing
