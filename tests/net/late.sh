#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program fills its own receive ring and dies: the kernel gets only whole segments of TCP for the program's
# connections, written anew, and nothing else.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
frames() { # FILE PORT [VARIABLE=VALUE..]: what a program that has filled its ring leaves to the kernel
	local file=$1 port=$2
	shift 2
	bg b python3 "$TESTS/net/late_sniff.py" "$port" $((port + 1)) >"$file"
	wait_line "$file" ready
	b env "$@" "$BIN/late_frames" "$TMP/sluiced.b" 1001 "$DEV_B" "$port" "$B4" "$B6" "$A4" "$A6" $((port + 1)) ||
		fail "the frames are not in the ring"
	ok "the lease ends" wait_until 20 leases_are 0
}
frames "$TMP/sniffed" 7000
ok "the program's segments are the kernel's" wait_until 10 file_has "$TMP/sniffed" "plain v"
stop "$BG"
# (v: by the IP header UDP to another port, by the record TCP to the program's: it is that.)
same "these alone, as segments without options" "ready plain a plain b plain c plain v " \
	"$(tr '\n' ' ' <"$TMP/sniffed")"

# These packets come by the loopback device, so a socket that is bound to another device gets none.
frames "$TMP/bound" 7010 "LATE_DEVICE=$DEV_B"
stop "$BG"
same "none for sockets that are bound to the device" ready "$(cat "$TMP/bound")"
printf 'allow user * repair no\n' >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
wait_until 10 file_has "$TMP/sluice.db.log" "are read again"
frames "$TMP/norepair" 7020
stop "$BG"
same "none of a user whose connections do not move" ready "$(cat "$TMP/norepair")"
done_testing
