#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program fills its own receive ring and dies: the kernel gets only whole segments of TCP for the program's
# connections, written anew, and nothing else.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
bg b python3 "$TESTS/net/late_sniff.py" 7000 7001 >"$TMP/sniffed"
sniffer=$BG
wait_line "$TMP/sniffed" ready
b "$BIN/late_frames" "$TMP/sluiced.b" 1001 "$DEV_B" 7000 "$B4" "$B6" "$A4" "$A6" 7001 || fail "the frames are not in the ring"
ok "the lease ends" wait_until 20 leases_are 0
ok "the program's segments are the kernel's" wait_until 10 file_has "$TMP/sniffed" "plain v"
stop "$sniffer"
# (v: by the IP header UDP to another port, by the record TCP to the program's: it is that.)
same "these alone, as segments without options" "ready plain a plain b plain c plain v " \
	"$(tr '\n' ' ' <"$TMP/sniffed")"
done_testing
