#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program does not read for a second: the window that its peer has been told is one that packet memory has room for, so
# nothing is lost, and nothing waits for the peer's time-out afterwards.
. "$(dirname "$0")/lib.sh"
export SLUICE_RX_BACKEND=packet # (XDP's ring loses packets of its own accord at such a rate)
need python3
net_up
head -c 11000000 /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
MODE=one
SL_ENV=(SLUICE_FRAMES=4096)
bg sb python3 "$TESTS/net/away_read.py" "$B4" 7001 6000000 1 >"$TMP/got"
reader=$BG
wait_tcp b 7001
again=$(a timeout 60 python3 "$TESTS/net/away_send.py" "$B4" 7001 "$TMP/stream")
wait_line "$TMP/got" ' ' 60
same "not a byte is lost" "${SUM%% *}" "$(awk '{ print $1 }' "$TMP/got")"
dropped=$("$BUILD/sluice" stat -k "$SLUICE_STATS_SHMEM_DIR" -p "$reader" --json | python3 -c 'import json, sys
print(sum(lane["TcpExtTCPRcvQDrop"] for line in sys.stdin for lane in json.loads(line)["lanes"]))')
same "segments dropped for want of room ($again sent again in all)" 0 "$dropped"
stop "$reader"
done_testing
