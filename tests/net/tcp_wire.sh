#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP over a wire that loses, doubles, reorders, delays and damages: every byte arrives, in order and
# undamaged, both ways at once, and the connection ends as it should.
. "$(dirname "$0")/lib_tcp.sh"
net_up -w
FAMILIES=${FAMILIES:-4 6}
one() { # name bytes options of the wire
	local name=$1 bytes=$2
	shift 2
	wire_up "$@" --seed 7
	tcp_round wire "$name" 10 "$bytes"
	wire_down
}
for MODE in $MODES; do
	for fam in $FAMILIES; do
		one loss 300000 --loss 2%
		one all 150000 --loss 1% --dup 2% --reorder 3%/3 --corrupt 1% --delay 2ms
		[ "$fam" = 6 ] && continue
		one clean 1000000
		one runs 200000 --loss 1%/3
		one reorder 600000 --reorder 5%/4 --dup 2%
		one damage 300000 --corrupt 2%
		one delay 300000 --delay 5ms --jitter 3ms --loss 1%
		one slow 200000 --rate 20mbit --limit 30
	done
done
done_testing
