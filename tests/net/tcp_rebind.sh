#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# One server after the other on the same port, without SO_REUSEADDR: what an ended server's connection
# leaves must not be in the next one's way, if the client has ended it first.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
ROUNDS=${ROUNDS:-12}
round() { # address how
	local out=$TMP/server server
	bg pb python3 "$TESTS/net/tcp_rebind.py" serve "$1" 7000 "$2" >"$out" 2>&1
	server=$BG
	wait_until 10 eval "b ss -Hltn 'sport = :7000' | grep -q . || ! kill -0 $server 2>/dev/null"
	if kill -0 "$server" 2>/dev/null; then
		pa timeout 20 python3 "$TESTS/net/tcp_rebind.py" connect "$1" 7000 "$2" || { fail "the client's status is $?"; return 1; }
	fi
	wait_end "$server" 20 && [ "$(cat "$out")" = 20000 ] && return 0
	tail -n 1 "$out"
	b ss -tano
	stop "$server"
	return 1
}
for MODE in $MODES; do
	good=0
	for ((i = 0; i < ROUNDS; i++)); do
		how=(x c e ce)
		addr=$B4
		((i % 3 == 2)) && addr=$B6
		round "$addr" "${how[i % 4]}" && good=$((good + 1))
	done
	same "servers on one port" "$ROUNDS" "$good"
done
done_testing
