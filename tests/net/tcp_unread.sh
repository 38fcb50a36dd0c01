#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program does not read for a second: the window that its peer has been told is one that packet memory has room for, so
# nothing is lost, and nothing waits for the peer's time-out afterwards. A receive buffer larger than all of packet memory
# leaves the peer a window, too.
. "$(dirname "$0")/lib.sh"
export SLUICE_RX_BACKEND=packet # (XDP's ring loses packets of its own accord at such a rate)
need python3
net_up
MODE=one
# read_slowly FRAMES BYTES BUFFER: b reads so many bytes from a, with a pause after 6 MB; sets reader and again.
read_slowly() {
	SL_ENV=("SLUICE_FRAMES=$1")
	head -c "$2" /dev/urandom >"$TMP/stream"
	: >"$TMP/got"
	bg sb python3 "$TESTS/net/away_read.py" "$B4" 7001 6000000 1 "$3" >"$TMP/got"
	reader=$BG
	wait_tcp b 7001
	again=$(a timeout 20 python3 "$TESTS/net/away_send.py" "$B4" 7001 "$TMP/stream")
	wait_line "$TMP/got" ' ' 20
	same "of $2 bytes, read by a buffer of $3, none is lost" "$(sha256sum <"$TMP/stream" | cut -d" " -f1)" \
		"$(awk '{ print $1 }' "$TMP/got")"
}
read_slowly 4096 11000000 4000000
dropped=$("$BUILD/sluice" stat -k "$SLUICE_STATS_SHMEM_DIR" -p "$reader" --json | python3 -c 'import json, sys
print(sum(lane["TcpExtTCPRcvQDrop"] for line in sys.stdin for lane in json.loads(line)["lanes"]))')
same "segments dropped for want of room ($again sent again in all)" 0 "$dropped"
stop "$reader"
read_slowly 1024 2000000 200000000
stop "$reader"
done_testing
