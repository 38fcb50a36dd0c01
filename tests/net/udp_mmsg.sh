#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sendmmsg and recvmmsg: counts, timeouts, signals, errors in the middle.
. "$(dirname "$0")/lib.sh"
net_up
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		bg pa "$BIN/echo" "${!peer}" 7000
		wait_udp a 7000
		offload_begin
		differ mmsg$fam pb "$BIN/mmsg" "${!own}" "${!peer}" 7000
		offload_end 50
		stop "$BG"
	done
done
done_testing
