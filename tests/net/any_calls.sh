#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of any socket calls, drawn by a seed (any_calls.py): each call gives what it gives by the kernel. A seed that
# differs is tried once more, with more time after each step, since a busy machine may be late. FIRST=1 SEEDS=1000
# tries more of them.
. "$(dirname "$0")/lib.sh"
FIRST=${FIRST:-41} SEEDS=${SEEDS:-10} SUBJECT=${SUBJECT:-any_calls.py} BASE=0
case $BUILD in *san*) export BAD_ADDRESSES=no ;; esac # a sanitizer looks there itself
net_up
need python3
b sysctl -qw net.ipv4.ip_local_port_range="60000 65000"
a sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 net.ipv4.icmp_msgs_per_sec=100000
bg a python3 "$TESTS/net/${PEER:-any_calls.py}" peer "$TMP/peer" "$A4" "$A6" "$B4" "$B6"
wait_until 10 test -S "$TMP/peer" || die "the peer does not start"
run() { # first seed, seeds, ms to wait after a step: what they print. Each run has ports of its own.
	BASE=$((BASE % 49000 + 5000 > 49000 ? 5000 : BASE + 5000))
	pb python3 "$TESTS/net/$SUBJECT" subject "$TMP/peer" "$B4" "$B6" "$A4" "$A6" "$BASE" "$@"
}
again() { # seeds...: those that still differ
	local seed
	for seed in "$@"; do
		MODE=kernel run "$seed" 1 40 >"$TMP/kernel.$seed"
		run "$seed" 1 40 | diff "$TMP/kernel.$seed" - >"$TMP/diff.$seed" || {
			fail "seed $seed: < by the kernel, > by us, after these"
			head -n 6 "$TMP/diff.$seed"
			sed "/$(sed -n 's/^< \([0-9]*\.[0-9]*\) .*/\1/p' "$TMP/diff.$seed" | head -n 1) /q" "$TMP/kernel.$seed"
		}
	done
}
for MODE in $MODES; do
	for part in $(seq "$FIRST" 200 $((FIRST + SEEDS - 1))); do
		n=$((FIRST + SEEDS - part > 200 ? 200 : FIRST + SEEDS - part))
		if [ "$MODE" = kernel ]; then
			run "$part" "$n" >"$TMP/all.$part" || fail "it ends"
			ok "$part: $(wc -l <"$TMP/all.$part") calls" grep -q "^$((part + n - 1))\.60 " "$TMP/all.$part"
			continue
		fi
		run "$part" "$n" | diff "$TMP/all.$part" - >"$TMP/diff" || again $(sed -n 's/^[<>] \([0-9]*\)\..*/\1/p' "$TMP/diff" | sort -un)
		pass "$part: $n programs were compared"
	done
done
done_testing
