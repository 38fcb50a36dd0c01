#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Threads with the smallest stack (16 KB): every call works, also the first socket of the process, and none needs more
# than 6 KB of the thread's stack.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer's frames are larger"
net_up
bg a "$BIN/small_stack" peer "$A4"
wait_tcp a 7000
wait_udp a 7000
SL_ENV+=(SLUICE_TRACELEVEL=5 "SLUICE_LOG_FILE=$TMP/log")
for MODE in kernel one; do # (the peer is not preloaded)
	differ small pb timeout 60 "$BIN/small_stack" small "$A4"
	differ painted pb timeout 60 "$BIN/small_stack" painted "$A4" 6144
	[ -z "${SHOW_DEPTHS:-}" ] || sort -t: -k2 -n "$TMP/differ.err" | tail -n 40
done
ok "offloaded" grep -q "offloaded" "$TMP/log"
done_testing
