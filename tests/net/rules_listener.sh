#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A rule comes and goes: a listener follows it, and so do its connections, even those that were accepted under it.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
PORT=7400
rule() { b "$BUILD/sluice" rule "$@" >/dev/null; }
kernels() { [ "$(b ss -Htn state established "( sport = :$PORT )" | wc -l)" "$1" "$2" ]; }
TALKERS=()
talker() { # one more peer, which goes on talking
	rm -f "$TMP/greeted"
	bg a python3 "$TESTS/net/rules_talker.py" "$B4" $PORT "$TMP/greeted"
	TALKERS+=("$BG")
	ok "$WHAT: one more is served" wait_until 20 test -e "$TMP/greeted"
}
all_talk() {
	for t in "${TALKERS[@]}"; do kill -0 "$t" || return; done
}
for how in epoll accept; do
	PORT=$((PORT + 1)) WHAT=$how TALKERS=()
	bg sb python3 "$TESTS/net/rules_listener.py" $how "$B4" $PORT
	SERVER=$BG
	wait_tcp b $PORT
	talker
	ok "$WHAT: it is ours" kernels -eq 0
	for round in 1 2; do
		WHAT="$how, round $round"
		ok "$WHAT: a rule takes it off" rule add --device "$DEV_B" use os tcp_server "*:$PORT"
		ok "$WHAT: the kernel has all" wait_until 20 kernels -eq ${#TALKERS[@]}
		talker
		ok "$WHAT: the new one, too" kernels -eq ${#TALKERS[@]}
		ok "$WHAT: the rule is removed" rule del --device "$DEV_B" 1
		# (A call that waits in the kernel ends with the next connection.)
		[ $how = epoll ] || talker
		ok "$WHAT: all come back" wait_until 20 kernels -eq 0
		talker
		ok "$WHAT: a new one is ours" wait_until 5 kernels -eq 0
		sleep 0.3
		ok "$WHAT: all are answered" all_talk
	done
	for t in "${TALKERS[@]}"; do stop "$t"; done
	stop "$SERVER"
done
done_testing
