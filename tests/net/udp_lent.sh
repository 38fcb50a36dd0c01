#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that a child executes, or that is spawned, gets a datagram socket by its number: what waits in it is there,
# once and in order. When that program has ended the socket is offloaded again. One that is closed on exec stays so.
. "$(dirname "$0")/lib.sh"
need python3
net_up
peer_is_kernels
for MODE in $MODES; do
	for fam in ${FAMILIES:-4}; do
		own=B$fam peer=A$fam
		bg a python3 "$TESTS/net/udp_lent.py" serve "${!peer}" 7000
		server=$BG
		wait_udp a 7000
		pb timeout 100 python3 "$TESTS/net/udp_lent.py" "${!own}" "${!peer}" 7000 "$TMP/mark" >"$TMP/out" 2>"$TMP/err"
		same "IPv$fam: the program ends" 0 $?
		same "IPv$fam: all is in order" "" "$(grep -v -e ' in order$' -e ': True$' "$TMP/out" "$TMP/err")"
		same "IPv$fam: all has been tried" 14 "$(grep -c ' in order$' "$TMP/out")"
		[ "$MODE" = kernel ] || same "IPv$fam: it is ours whenever it may be" 12 "$(grep -c ': True$' "$TMP/out")"
		stop "$server"
	done
done
done_testing
