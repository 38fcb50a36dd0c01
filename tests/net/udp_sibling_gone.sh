#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Two UDP sockets share a port (SO_REUSEADDR), and the better match is closed. The other socket goes to the kernel if a
# child still has the closed one, and stays offloaded if the child has gone.
MODES=${MODES:-kernel one}
MODES=${MODES/both/one}
. "$(dirname "$0")/lib.sh"
net_up
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 2
wait_udp a 7001
for MODE in $MODES; do
	for child in lives gone; do
		ok "$MODE: the child $child" pb python3 "$TESTS/net/sibling_gone.py" "$child" "$B4" "$A4" 7000 >"$TMP/out"
		read -r got by_kernel <"$TMP/out"
		case $MODE:$child in
		*:lives) same "$MODE: the child has them" 0 "$got" ;;
		kernel:gone) same "kernel: the other has them" "20 20" "$got $by_kernel" ;;
		one:gone) same "the other has them, offloaded" "20 0" "$got $by_kernel" ;;
		esac
	done
done
done_testing
