#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Random transfers over a random wire: every byte is right, and over all seeds the time is at most 1.3 of the kernel's
# with the same wire (the median of the ratios; of ROUNDS runs of each mode the median counts). SEEDS="..." tries others.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -w
: >"$TMP/runs"
for seed in ${SEEDS:-$(seq 1 8)}; do
	read -r mtu wire <<<"$(python3 "$TESTS/net/tcp_random.py" options "$seed")"
	ip -n "${NS}a" link set "$DEV_A" mtu "$mtu"
	ip -n "${NS}b" link set "$DEV_B" mtu "$mtu"
	for round in $(seq "${ROUNDS:-1}"); do
		for MODE in $(modes_alone); do
			# shellcheck disable=SC2086
			wire_up $wire
			far_up pb
			offload_begin
			fam=4
			[ "${FAMILIES:-4 6}" = 6 ] || [ $((seed % 2)) = 1 ] && fam=6
			[ "${FAMILIES:-4 6}" = 4 ] && fam=4
			own=B$fam
			got=$(a python3 "$TESTS/net/tcp_random.py" "${!own}" "$TMP/far.$FAR_N" "$seed" 2>"$TMP/err")
			ok "seed $seed, round $round: $got" test $? = 0 || tail -n 5 "$TMP/err"
			echo "$MODE $seed $got" >>"$TMP/runs"
			stop "$far"
			wire_down
		done
	done
done
ok "at most 1.3 of the kernel's time" python3 "$TESTS/net/tcp_random.py" judge "$TMP/runs"
done_testing
