#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device that stands still: a sender that may wait does so, asleep, and nothing overtakes the datagrams on the ring.
. "$(dirname "$0")/lib.sh"
net_up
need "$BIN/txroom" python3
waits() { # case [settings...]: sets OUT to its output, CAME to what arrived
	local what=$1 peer
	shift
	a python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 7000))
s.settimeout(20)
came = ""
while not came.endswith("."): came += s.recv(100).decode()
print(came.replace("_", ""))' "$A4" >"$TMP/came" 2>"$TMP/err" &
	peer=$!
	wait_udp a 7000
	OUT=$(b env "SLUICE_LOG_FILE=$TMP/sluice.%d.log" "$@" timeout 20 "$BIN/txroom" "$B4" "$A4" 7000 "$what" | grep -v still | paste -sd,)
	wait $peer
	CAME=$(cat "$TMP/came")
}
waits order
same "a blocking sender waits for room, asleep" "order: 1, waited: 1, slept: 1" "$OUT"
same "and nothing is overtaken" "abcdefghi." "$CAME"
waits segments
same "the segments of one call wait together" "segments: 16, waited: 1, slept: 1" "$OUT"
same "and all of them come" "abcdefghijklmnopqrstuvwx." "$CAME"
waits timeo
same "SO_SNDTIMEO ends the wait" "timeo: -11, waited: 1, slept: 1" "$OUT"
waits signal
same "a signal handler ends it" "signal: -4, waited: 1, slept: 1" "$OUT"
waits poll SLUICE_TX_NONBLOCKED_EAGAINS=1 SLUICE_SELECT_POLL=20000 # (by default it may spin for a quarter of the time)
same "POLLOUT comes when there is room, and not before" "refused: -11, told: 1 4,poll: 1, waited: 1, slept: 1" "$OUT"

# Here nothing empties the ring: the link is lost.
b env "SLUICE_LOG_FILE=$TMP/sluice.%d.log" timeout 20 "$BIN/txroom" "$B4" "$A4" 7000 link >"$TMP/link" 2>&1 &
PROGRAM=$!
wait_line "$TMP/link" still
ip -n "${NS}a" link set "$DEV_A" down
if wait_until 5 not link_is_up b "$DEV_B"; then
	wait $PROGRAM
	ok "a lost link holds nobody" grep -q '^link: 1,' "$TMP/link"
else
	say "one end of the wire has its link without the other (QEMU's): not seen whether a lost link holds somebody"
fi
done_testing
