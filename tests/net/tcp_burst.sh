#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bursts of short messages, and answers in two pieces, with TCP_NODELAY: messages share segments, and the last one
# arrives though the program calls nothing more.
. "$(dirname "$0")/lib_tcp.sh"
need "$BIN/tcp_burst"
net_up
pairs() { sed -n 's/ segments$//p' "$TMP/pairs"; }
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		peer=A$fam
		bg pa "$BIN/tcp_burst" sink "${!peer}" 7000 "$TMP/count$MODE$fam"
		wait_tcp a 7000
		segs_begin
		for n in 10 200 1000; do
			ok "$MODE IPv$fam: all of bursts of $n come" \
				pb "$BIN/tcp_burst" send "${!peer}" 7000 "$TMP/count$MODE$fam" 20 "$n"
		done
		segs_end "bursts$fam" 15
		# (A program that loses its core between two pieces parts them, so a busy machine tries again.)
		for _ in 1 2 3; do
			ok "$MODE IPv$fam: all of answers in two pieces come" \
				pb "$BIN/tcp_burst" pairs "${!peer}" 7000 "$TMP/count$MODE$fam" 40 >"$TMP/pairs"
			cat "$TMP/pairs"
			[ "$MODE" != kernel ] && [ "$(pairs)" -gt 70 ] || break
		done
		# (A sanitizer's build writes the second piece later than the first waits for it.)
		[ "$MODE" = kernel ] || [[ ${BUILD##*/} == *san* ]] ||
			ok "they are a segment each (but the first eight, and what an interrupt parts)" \
				test "$(pairs)" -le 70
		stop "$BG"
	done
done
done_testing
