#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Several threads on one TCP connection, listener or set; closing, resets and fork beneath them.
. "$(dirname "$0")/lib_tcp.sh"
need "$BIN/tcp_threads" "$BIN/tcp_peer"
net_up
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		peer=A$fam own=B$fam
		bg pa "$BIN/tcp_peer" "${!peer}" 7000
		wait_tcp a 7000
		segs_begin
		differ "threads$fam" pb "$BIN/tcp_threads" "${!peer}" 7000 "${!own}"
		segs_end "threads$fam" 15
		stop "$BG"
	done
done
done_testing
