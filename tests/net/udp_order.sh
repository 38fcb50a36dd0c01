#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Datagrams of one socket arrive in the order they were sent, though the first ones are the kernel's (MSG_DONTROUTE) and
# wait in its queue. Once that is empty they are ours again.
. "$(dirname "$0")/lib.sh"
net_up
need python3 tc
b tc qdisc replace dev "$DEV_B" root tbf rate 2mbit burst 3000 limit 500000 || skip "the kernel has no tbf"
for MODE in $MODES; do
	for fam in 4 6; do
		own=B$fam peer=A$fam
		bg a python3 "$TESTS/net/udp_order.py" "${!peer}" 7000 "$TMP/got" 100
		receiver=$BG
		wait_udp a 7000
		bg pb python3 "$TESTS/net/udp_order.py" "${!own}" "${!peer}" 7000 "$TMP/go"
		sender=$BG
		wait_until 30 file_has "$TMP/got" '^60$'
		sent=$(udp_stat b OutDatagrams)
		: >"$TMP/go"
		ok "IPv$fam: the sender ends" wait_end "$sender" 60
		ok "IPv$fam: in order" wait_end "$receiver" 60
		sent=$(($(udp_stat b OutDatagrams) - sent))
		[ "$MODE" = kernel ] || ok "IPv$fam: of the last 40 the kernel sent $sent" test $sent -le 4
		rm -f "$TMP/got" "$TMP/go"
	done
done
done_testing
