#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Datagrams and streams that a program writes into packet memory are sent from there, once or again and again, and by a
# copy where another way is needed; numbered ones are completed on the error queue; wrong buffers are refused, and what a
# program may hold has a bound.
. "$(dirname "$0")/lib.sh"
PEER=$BUILD/tests/preload/peer
need "$PEER" "$BIN/zc_send"
net_up
MODE=one
for ends in "$A4 $B4" "$A6 $B6"; do
	read -r far own <<<"$ends"
	bg a "$PEER" "$far" 7000
	wait_udp a 7000
	for c in many keep copied wrong bounded numbers streams streams_wait moved; do
		ok "$c $own" sb timeout 60 env -u LD_PRELOAD "$BIN/zc_send" "$far" 7000 "$own" $c
	done
	stop "$BG"
done
done_testing
