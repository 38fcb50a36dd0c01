#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP connections are handed back to the kernel under checked traffic both ways: by sl_hand_back(), into a child, and
# when the process ends with data unsent. No byte is wrong, and neither end sends a reset.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need "$BIN/tcp_handback"
ROUNDS=${ROUNDS:-${SHORT:+20}}
ROUNDS=${ROUNDS:-60}
case " $MODES " in *" one "*) MODE=one ;; *" both "*) MODE=both ;; *) skip "nothing is preloaded" ;; esac

# Connections that were reset. (An ACK that comes when an end is closed already is answered by a reset,
# as ever, and the kernel acknowledges the FIN that a repaired socket is told of: OutRsts says nothing.)
resets() { tcp_stat a EstabResets; }

# subject's role, how, address family, seed
run() {
	local role=$1 how=$2 fam=$3 seed=$4 own=B$3 peer=A$3 port=$((7000 + $4)) far=none subject other
	local what="$role, $how, IPv$fam" before
	[ "$how" = exit ] && far=sink
	before=$(resets)
	if [ "$role" = listen ]; then
		bg pb "$BIN/tcp_handback" listen "${!own}" "${!peer}" "$port" "$ROUNDS" "$how" "$seed" >"$TMP/b" 2>&1
		subject=$BG
		wait_tcp b "$port"
		bg a "$BIN/tcp_handback" connect "${!peer}" "${!own}" "$port" "$ROUNDS" "$far" "$seed" >"$TMP/a" 2>&1
		other=$BG
	else
		bg a "$BIN/tcp_handback" listen "${!peer}" "${!own}" "$port" "$ROUNDS" "$far" "$seed" >"$TMP/a" 2>&1
		other=$BG
		wait_tcp a "$port"
		bg pb "$BIN/tcp_handback" connect "${!own}" "${!peer}" "$port" "$ROUNDS" "$how" "$seed" >"$TMP/b" 2>&1
		subject=$BG
	fi
	both_end "$what" "$subject" "$other" 240 || return
	local n
	n=$(sed -n 's/.*handed \([0-9]*\) .*/\1/p' "$TMP/b")
	[ "$how" = exit ] || ok "$what: enough were handed back" test "$n" -ge $((ROUNDS * 2 / 5))
	same "$what: no reset" "$before" "$(resets)"
}

run connect api 4 1
run listen api 4 2
run connect api 6 3
run listen api 6 4
run connect fork 4 5
run listen fork 6 6
run connect exit 4 7
done_testing
