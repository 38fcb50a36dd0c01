# SPDX-License-Identifier: BSD-2-Clause
# For two hosts with simulated NICs whose sockets are paced: tells which pacer each socket has, and what the log says.
#
# shellcheck shell=bash
unset SLUICE_STATS_SHMEM_DIR # (its own directory, so that the list has no other program's sockets)
VERBS=1
. "$(dirname "$0")/lib.sh"
need python3
net_up
MODE=simulated

# Prints how many sockets are paced by the NIC, and how many by the wheel.
ways() {
	"$BUILD/sluice" pace -k "$TMP/stats" -j | python3 -c 'import json, sys
l = [s["by"] for s in json.load(sys.stdin)]
print(l.count("nic"), l.count("wheel"))'
}
are() { [ "$(ways)" = "$1" ]; }
# Starts a flow in the background. After its first half it goes on slowly, until go_on(): a test looks at it then.
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
begin() { # frames, size, rates, words
	rm -f "$TMP"/sluice.*.log
	STREAM=
	bg b "$BIN/pace_receive" "$DEV_B" "$PORT" "$1" "$3" >"$TMP/paced"
	RECEIVER=$BG
	wait_line "$TMP/paced" listening
	bg sa "$BIN/pace_send" "$B4" "$PORT" "$@" hold >"$TMP/sent" <"$TMP/go"
	SENDER=$BG
}
go_on() { echo >&7; }
end() {
	go_on
	ok "$1: the sender ends" wait_end "$SENDER" 60
	ok "$1: the receiver ends" wait_end "$RECEIVER" 60
	sed -i /listening/d "$TMP/paced"
}
