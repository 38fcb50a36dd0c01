#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device is released, or deleted, while other processes of the group keep the packet memory: all its frames come back,
# from fill and receive rings and from completions that nobody has looked for.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up -c
D=$(daemon_pid)
ROUNDS=${ROUNDS:-${SHORT:+3}} # (one of each kind)
ROUNDS=${ROUNDS:-5}
frames() { "$BIN/frames" "$D"; }
# (Between two looks of a second the kernel may not have given the queue back.)
all_there() { frames >"$TMP/frames" && file_has "$TMP/frames" "transmit 0 .*returned 0 kernel 0 twice 0"; }
devices() { daemon ports | tail -n +2 | awk '{ print $1 }' | sort | tr '\n' ' '; }
has_one() { [ "$(devices)" = "$DEV_B " ]; }
bg sb "$BIN/echo" "$B4" 7000
keeper=$BG
wait_udp b 7000
bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/steady"
client=$BG
ok "one keeps the packet memory" wait_until 20 grows "$TMP/steady" 100
for round in $(seq "$ROUNDS"); do
	bg sb "$BIN/echo" "$B4C" 7001
	other=$BG
	wait_udp b 7001
	wait_until 20 test "$(devices)" = "$(printf '%s\n' "$DEV_B" "$DEV_BC" | sort | tr '\n' ' ')" ||
		die "round $round: the second device is not used"
	rm -f "$TMP/second"
	bg c "$BIN/steady" -i 200 -n 2000 "$B4C" 7001 "$TMP/second"
	client2=$BG
	wait_until 20 grows "$TMP/second" 500 || fail "round $round: no answers"
	case $((round % 3)) in
	0) kill -9 "$other" ;; # in the middle
	1) kill "$other" ;;
	2)
		ip -n "${NS}b" link del "$DEV_BC"
		kill "$other"
		;;
	esac
	wait "$other" 2>/dev/null
	stop "$client2"
	wait_until 20 has_one || fail "round $round: the device is not released"
	ok "round $round: every frame is back" wait_until 20 all_there
	[ "$FAILED" = 0 ] || cat "$TMP/frames"
	[ $((round % 3)) != 2 ] || {
		join b c "$DEV_BC" "$DEV_C" 1 1500
		addr_up b "$DEV_BC" "$B4C/24"
		addr_up c "$DEV_C" "$C4/24"
		wait_until 10 link_is_up b "$DEV_BC"
	}
done
n=$(answered "$TMP/steady")
ok "the one is still answered" wait_until 20 grows "$TMP/steady" $((n + 100))
stop "$client"
read -r sent got doubled wrong failed _ <"$TMP/steady"
same "and lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
stop "$keeper"
done_testing
