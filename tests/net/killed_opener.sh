#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A process is killed (kill -9) while a forked child has its connection, and bytes are in the connection's queues: the
# child reads what was not read, the peer gets what was not sent, and both go on (killed_opener.py).
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
peer_is_kernels
PY=$TESTS/net/killed_opener.py
PORT=7600
export DIR=$TMP/idle
mkdir -m 777 "$DIR"
for MODE in $MODES; do
	for how in ${HOW-4unread 4unsent 6both 4late 6fin 4mixed 6unused 4many 4urgent 4both+user 4both+root 6both+confined}; do
		PORT=$((PORT + 1))
		own=B${how%%[a-z]*}
		LEASED_CAPS=
		case $how in *+[ur]*) LEASED_CAPS=,+setuid,+setgid,+sys_chroot ;; esac
		bg pb python3 "$PY" serve "${how#[46]}" "${!own}" $PORT
		wait_tcp b $PORT
		differ "$how" a timeout 60 python3 "$PY" "${how#[46]}" "${!own}" $PORT
		say "$(cat "$TMP/differ.err")"
		stop "$BG" 2>/dev/null
	done
done
[ -z "${LEASED:-}" ] || [ -n "${HOW:-}" ] || {
	# The daemon gives it to processes that show its socket, of whatever user, and to no others. The next daemon does, too.
	LEASED_CAPS=
	bg sb python3 "$PY" serve idle "$B4" 7599
	wait_tcp b 7599
	bg a timeout 60 python3 "$PY" idle "$B4" 7599 >"$TMP/peer"
	wait_until 20 test -e "$DIR/child"
	kept() { b ss -Htn state established "sport = :7599" | grep -q .; }
	ok "the daemon has it" wait_until 20 kept
	ok "its server can start again meanwhile" b python3 -c "import socket; socket.create_server(('$B4', 7599))"
	none="No such file or directory"
	same "who shows its socket has the connection" "$(for u in 0 65533 65534; do
		echo "$u the child's: the connection to $A4"
		echo "$u another: $none"
	done)" "$(b python3 "$PY" thief "$TMP/sluiced.b" "$DIR")"
	same "the child has it, too" "idle peer's bytes whole True own bytes True" "$(wait_end "$BG" 30; cat "$TMP/peer")"
}
[ -z "${LEASED:-}" ] || {
	rm -f "$DIR"/*
	bg sb python3 "$PY" serve idle "$B4" 7598
	wait_tcp b 7598
	bg a timeout 60 python3 "$PY" idle "$B4" 7598 >"$TMP/peer"
	wait_until 20 test -e "$DIR/child"
	sleep 0.5 # (the daemon has heard of the death)
	daemons=$(ip netns pids "${NS}b" | while read -r p; do
		[ "$(cat "/proc/$p/comm")" != sluiced ] || echo "$p"
	done)
	kill -9 $daemons
	daemon_up b
	touch "$DIR/go"
	same "a daemon comes after the one that has kept it" "idle peer's bytes whole True own bytes True" \
		"$(wait_end "$BG" 30; cat "$TMP/peer")"
}
done_testing
