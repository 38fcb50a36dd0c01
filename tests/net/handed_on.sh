#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program passes a connection or a listener to an unrelated one, and stays, closes its copy, exits or is killed at once
# (handed_on.py): no byte and no waiting connection is lost, whichever of the two is preloaded.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
peer_is_kernels
PY=$TESTS/net/handed_on.py
PORT=7700
chmod 777 "$TMP"
# (SHORT: what no other test has.)
ALL=(waiting+store:killed: deferred+store:exits: waiting:exits:old)
[ -n "${SHORT:-}" ] || ALL+=(conn+store:exits: conn+store:killed: waiting+store:exits: back:closes: conn:killed:old fin:exits:old
	reset:exits:old busy:closes:old conn:closes:new flow:killed:new busy:killed:new)
[ -n "${SHORT:-}" ] || for what in conn fin idle flow waiting busy; do
	for end in stays closes exits killed; do
		ALL+=("$what:$end:")
	done
done
for MODE in $MODES; do
	for how in ${HOW-"${ALL[@]}"}; do
		PORT=$((PORT + 1))
		IFS=: read -r what end only <<<"$how"
		at=$TMP/way.$PORT
		own=$B4 by_old=pb by_new=pb
		[ $((PORT % 2)) = 0 ] || own=$B6
		[ "$only" != new ] || by_old=b
		[ "$only" != old ] || by_new=b
		bg $by_new python3 "$PY" new "$what" "$at" "$own"
		new=$BG
		[[ $what != *+store ]] || bg b python3 "$PY" store "$at"
		bg $by_old python3 "$PY" old "$what" "$end" "$at" "$own" $PORT
		old=$BG
		wait_tcp b $PORT
		differ "$how" a timeout 60 python3 "$PY" peer "$what" "$own" $PORT
		say "$(cat "$TMP/differ.err")"
		stop "$new" "$old" 2>/dev/null
	done
done
done_testing
