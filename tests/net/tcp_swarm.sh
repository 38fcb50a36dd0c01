#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Many TCP connections with checked bytes both ways go to the kernel at random moments, and some come
# back: to a kernel peer and to a preloaded one, over a good wire and one that loses. Not a byte is
# wrong, and no connection is reset. CONNS: of each of the runs; `make soak` makes 10,000 hand-backs.
. "$(dirname "$0")/lib_tcp.sh"
net_up -w
need "$BIN/tcp_swarm"
CONNS=${CONNS:-150}
AT_ONCE=${AT_ONCE:-32}
HANDED=0 TAKEN=0 BYTES=0
case " $MODES " in *" one "* | *" both "*) ;; *) skip "nothing is preloaded" ;; esac

# Counts the resets of living connections of a's kernel. (A segment for a connection that is over is answered by a
# reset, as ever, and a kernel that is made to forget a connection counts that, too. Both programs take a reset for an
# error.)
resets() { if [ "$MODE" = one ]; then tcp_stat a EstabResets; else echo 0; fi; }
word() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$2"; }

# subject's role, address family, moves of a connection, seed
run() {
	local role=$1 fam=$2 moves=$3 own=B$2 peer=A$2 port=$((7000 + $4)) subject other before
	local what="$role, IPv$fam, $moves moves" args="$port $CONNS $AT_ONCE $4 $((20000 * $3))"
	before=$(resets)
	# shellcheck disable=SC2086
	if [ "$role" = listen ]; then
		bg pb "$BIN/tcp_swarm" listen "${!own}" "${!peer}" $args "$moves" >"$TMP/b" 2>&1
		subject=$BG
		wait_tcp b "$port"
		bg pa "$BIN/tcp_swarm" connect "${!peer}" "${!own}" $args 0 >"$TMP/a" 2>&1
		other=$BG
	else
		bg pa "$BIN/tcp_swarm" listen "${!peer}" "${!own}" $args 0 >"$TMP/a" 2>&1
		other=$BG
		wait_tcp a "$port"
		bg pb "$BIN/tcp_swarm" connect "${!own}" "${!peer}" $args "$moves" >"$TMP/b" 2>&1
		subject=$BG
	fi
	both_end "$what" "$subject" "$other" 900 || return
	HANDED=$((HANDED + $(word handed "$TMP/b")))
	TAKEN=$((TAKEN + $(word taken "$TMP/b")))
	BYTES=$((BYTES + $(word bytes "$TMP/a") + $(word bytes "$TMP/b")))
	# A port that is used again soon may bring a connection that is the kernel's from the start.
	same "$what: every connection moved" "$((CONNS * moves))" \
		"$(($(word handed "$TMP/b") + $(word taken "$TMP/b") + $(word over "$TMP/b") + $(word refused "$TMP/b")))"
	ok "$what: hardly one was the kernel's before" \
		test $(($(word refused "$TMP/b") * 20)) -le $((CONNS * moves))
	same "$what: no reset" "$before" "$(resets)"
}

for MODE in $MODES; do
	[ "$MODE" = kernel ] && continue
	wire_up
	run connect 4 1 1
	run listen 6 1 2
	run connect 6 5 5
	run listen 4 5 6
	wire_down
	wire_up --delay 2ms --loss 1% --reorder 1%/3
	run connect 6 1 3
	run listen 4 1 4
	wire_down
done
say "handed back $HANDED, taken over $TAKEN, $BYTES bytes checked"
done_testing
