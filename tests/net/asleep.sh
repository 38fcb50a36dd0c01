#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A thread sleeps in a call, and something happens to its socket: asleep.py, compared with the kernel. What differs is
# tried once more alone and with more time, by the kernel and by us.
. "$(dirname "$0")/lib.sh"
need python3
net_up
peer_is_kernels
PY=$TESTS/net/asleep.py

asleep() { # file, PAIR...: in this mode
	local out=$1 ctl=$TMP/ctl.$((++RUNS))
	shift
	bg a python3 "$PY" peer "$ctl" "${!peer}" 2>"$TMP/a"
	wait_until 20 test -S "$ctl" || die "no peer"
	pick pb
	"$WHO" python3 "$PY" subject "$ctl" "${!peer}" "${!own}" "$@" >"$out" || fail "the subject failed"
	stop "$BG"
}
RUNS=0
for fam in ${FAMILIES:-4 6}; do
	peer=A$fam own=B$fam
	for MODE in $MODES; do
		asleep "$TMP/$MODE" ${SHORT:+SHORT}
		[ "$MODE" != kernel ] || continue
		ok "IPv$fam: there were many" test "$(wc -l <"$TMP/$MODE")" -gt 100
		mapfile -t differ < <(diff "$TMP/kernel" "$TMP/$MODE" | sed -n 's/^[<>] \([^:]*\):.*/\1/p' | sort -u)
		[ ${#differ[@]} -gt 0 ] || { pass "IPv$fam: all as on the kernel"; continue; }
		mode=$MODE
		export SETTLE=1.2
		for MODE in kernel "$mode"; do asleep "$TMP/again.$MODE" "${differ[@]}"; done
		unset SETTLE
		while read -r line; do
			same "IPv$fam: ${line%%:*}" "$line" "$(grep -F "${line%%:*}: " "$TMP/again.$mode")"
		done <"$TMP/again.kernel"
	done
done
done_testing
