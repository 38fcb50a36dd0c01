#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP_REPAIR in both directions, without the library's TCP: a kernel connection with checked bytes
# both ways is taken out of its socket and put into another, again and again, in every state. No
# byte is wrong, and no connection is reset.
. "$(dirname "$0")/lib.sh"
MODES=kernel
net_up -w
need "$BIN/tcp_repair"
MOVES=${MOVES:-${SHORT:+20}}
MOVES=${MOVES:-60} # in each of the runs; the issue's thousand: MOVES=250
# A segment lost while the connection has no socket is sent again after the retransmission timeout: a short
# one saves the test minutes.
for h in a b; do
	"$h" ip route show | while read -r r; do "$h" ip route change $r rto_min 5ms; done
	"$h" ip -6 route show | grep "^$NET6" | while read -r r; do
		"$h" ip -6 route change $r rto_min 5ms
	done
done

# Counts the resets of living connections. On the bad wire a segment may come again after the last end has closed; the
# reset that answers it harms nobody. A reset at any other time is an error of a program.
resets() { "$BIN/counters" Tcp EstabResets "/run/netns/${NS}a"; }

# subject's role, who ends first (the subject: mine), address family, seed
run() {
	local role=$1 first=$2 fam=$3 seed=$4 own=B$3 peer=A$3 theirs subject
	theirs=mine
	[ "$first" = mine ] && theirs=theirs
	local before
	before=$(resets)
	if [ "$role" = listen ]; then
		bg b "$BIN/tcp_repair" listen "${!own}" "${!peer}" 7000 "$first" "$seed" "$MOVES" 0 >"$TMP/b" 2>&1
		subject=$BG
		wait_tcp b 7000
		bg a "$BIN/tcp_repair" connect "${!peer}" "${!own}" 7000 "$theirs" "$seed" 0 3000 >"$TMP/a" 2>&1
	else
		bg a "$BIN/tcp_repair" listen "${!peer}" "${!own}" 7000 "$theirs" "$seed" 0 3000 >"$TMP/a" 2>&1
		wait_tcp a 7000
		bg b "$BIN/tcp_repair" connect "${!own}" "${!peer}" 7000 "$first" "$seed" "$MOVES" 0 >"$TMP/b" 2>&1
		subject=$BG
		BG=${PIDS[-2]}
	fi
	local what="$role, $first FIN first, IPv$fam"
	wait_end "$subject" 300 || { fail "$what: the subject failed: $(cat "$TMP/b")"; stop "$BG"; cat "$TMP/a"; return; }
	wait_end "$BG" 30 || { fail "$what: the peer failed: $(cat "$TMP/a")"; return; }
	local moves s r ps pr
	read -r _ moves _ s _ r <"$TMP/b"
	read -r _ _ _ ps _ pr <"$TMP/a"
	say "  $(tr '\n' ' ' <"$TMP/b")"
	same "$what: $moves moves, every byte" "$s $r" "$pr $ps"
	ok "$what: there were bytes both ways" test "$s" -gt 10000 -a "$r" -gt 10000
	same "$what: no reset" "$before" "$(resets)"
}

wire_up
run connect mine 4 1
run listen theirs 4 2
run connect theirs 6 3
run listen mine 6 4
wire_down
# A wire that loses and takes its time: more in flight, and more states at the end.
wire_up --delay 3ms --loss 1% --reorder 1%/3
MOVES=$((MOVES / 5))
run connect theirs 4 5
run listen mine 4 6
wire_down
# Without options.
for h in a b; do
	"$h" sysctl -qw net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0 net.ipv4.tcp_window_scaling=0
done
wire_up
run connect mine 4 7
run listen theirs 6 8
wire_down
done_testing
