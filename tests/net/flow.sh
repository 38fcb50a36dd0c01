#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice flow lists what is offloaded and moves it to the kernel and back under checked traffic, by
# process, address and rule; rules added and removed at run time move it, too. Embedded, and by a daemon.
. "$(dirname "$0")/lib_tcp.sh"
need_built
need python3
N=4
export SWARM_US=4000
kernels() { "$1" ss -Htn state connected exclude time-wait "( sport = :$2 or dport = :$2 )" | wc -l; }
has() { [ "$(kernels b $PORT)" "$1" "$2" ]; }
flow() { b "$BUILD/sluice" flow -k "$TMP" "$@"; }
listed() { flow list -p "$SUBJECT" "$@" 2>/dev/null | awk '$1 ~ /^tcp/ && $3 != "-"' | wc -l; } # connections
shows_udp() { flow list -p "$SUBJECT" 2>/dev/null | grep -q "^udp.*:7900 .* sluice "; }
flow_lists() { flow list -p "$SUBJECT" 2>/dev/null | grep -q "^tcp.*$1 .* sluice "; }
shows() { [ "$(listed)" = "$1" ]; }

one_broker() {
	local args
	PORT=$((PORT + 1)) WHAT=${LEASED:+leased}
	WHAT=${WHAT:-embedded}
	args="$PORT $N $N $PORT 1500000"
	rm -f "$TMP/end"
	# shellcheck disable=SC2086
	SWARM_HOLD=$TMP/end bg sb "$BIN/tcp_swarm" listen "$B4" "$A4" $args 0 >"$TMP/b" 2>&1
	SUBJECT=$BG
	wait_tcp b $PORT
	# shellcheck disable=SC2086
	bg a "$BIN/tcp_swarm" connect "$A4" "$B4" $args 0 >"$TMP/a" 2>&1
	OTHER=$BG
	wait_line "$TMP/b" "under way"
	ok "$WHAT: offloaded" wait_until 10 has -eq 0

	ok "$WHAT: they are listed" wait_until 10 shows $N
	ok "$WHAT: by remote address" test "$(listed --remote "$A4:*")" = $N
	ok "$WHAT: not by another one" test "$(listed --remote "$B4:*")" = 0
	ok "$WHAT: by rule" test "$(listed --rule "tcp_server *:$PORT")" = $N
	ok "$WHAT: by device" test "$(listed --device "$DEV_B")" = $N
	same "$WHAT: as JSON" $N "$(flow list --json -p "$SUBJECT" 2>/dev/null | python3 -c '
import json, sys
print(sum(f["remote"] is not None and f["where"] == "sluice" for f in json.load(sys.stdin)))')"
	ok "$WHAT: which are to be moved must be said" not flow hand-back 2>/dev/null

	ok "$WHAT: handed back" flow hand-back -p "$SUBJECT" --remote "$A4:*"
	ok "$WHAT: the kernel has them" has -eq $N
	ok "$WHAT: taken over" wait_until 20 flow take-over -p "$SUBJECT" --remote "$A4:*"
	ok "$WHAT: they are back" wait_until 10 has -eq 0
	# (On a new device the listener, which is claimed first, would reset the connections of other lanes.)
	same "$WHAT: those of the listener are in its lane" "one" "$(flow list --json -p "$SUBJECT" 2>/dev/null | python3 -c '
import json, sys
lanes = {f["lane"] for f in json.load(sys.stdin) if f["local"].endswith(":" + sys.argv[1])}
print("one" if len(lanes) == 1 else lanes)' $PORT)"
	local one
	one=$(flow list --json -p "$SUBJECT" 2>/dev/null | python3 -c '
import json, sys
print([f["remote"] for f in json.load(sys.stdin) if f["remote"]][0])')
	ok "$WHAT: one of them handed back" flow hand-back -r "$one"
	ok "$WHAT: that one" has -eq 1
	ok "$WHAT: what the kernel has is shown" test "$(flow list --all -r "$one" 2>/dev/null | grep -c kernel)" = 1

	ok "$WHAT: a rule is added" b "$BUILD/sluice" rule add --device "$DEV_B" use os tcp_server "*:$PORT"
	ok "$WHAT: it is listed" test "$(b "$BUILD/sluice" rule list --device "$DEV_B" | grep -c "tcp_server \*:$PORT")" = 1
	ok "$WHAT: and tested" test "$(b "$BUILD/sluice" rule test --device "$DEV_B" tcp_server "$B4:$PORT" | grep -c "^  os")" = 1
	ok "$WHAT: all go to the kernel" wait_until 10 has -eq $N
	ok "$WHAT: the rule is removed" b "$BUILD/sluice" rule del --device "$DEV_B" 1
	ok "$WHAT: they come back, but for the one" wait_until 20 has -eq 1
	touch "$TMP/end"
	both_end "$WHAT" "$SUBJECT" "$OTHER" 60

	bg sb "$BIN/echo" "$B4" 7900
	SUBJECT=$BG
	wait_udp b 7900
	ok "$WHAT: a UDP socket is listed" wait_until 10 shows_udp
	ok "$WHAT: a program that sleeps hands it back at once" flow hand-back -l "$B4:7900"
	same "$WHAT: it is not listed" 0 "$(flow list -p "$SUBJECT" 2>/dev/null | grep -c :7900)"
	stop "$SUBJECT"
}

# The daemon is stopped, so a connection stays half way: out of one side, and not yet in the other.
moving() {
	local d args=("$B4" 7801 "$TMP")
	bg sb python3 "$TESTS/net/flow_moving.py" "${args[@]}" >"$TMP/b" 2>&1
	SUBJECT=$BG
	wait_tcp b 7801
	wait_until 30 flow_lists :7801 || fail "$WHAT: a server is not listed"
	bg a python3 -c 'import socket, sys
c = socket.create_connection((sys.argv[1], 7801))
c.sendall(b"all of it")
c.shutdown(socket.SHUT_WR)
c.recv(1)' "$B4"
	wait_line "$TMP/b" told
	ok "$WHAT: a connection is here" shows 1
	d=$(pgrep -f "$BUILD/sluiced --socket $TMP/sluiced.b ")
	kill -STOP $d
	bg b "$BUILD/sluice" flow -k "$TMP" hand-back -p "$SUBJECT" --remote "$A4:*" >/dev/null
	OTHER=$BG
	sleep 0.5
	touch "$TMP/go"
	sleep 0.3
	kill -CONT $d
	wait_end "$SUBJECT" 20
	same "$WHAT: what poll has told of is read, be it on its way" "got ['all', ' of it', '']" \
		"$(tail -n 1 "$TMP/b")"
	wait_end "$OTHER" 20 # (the tool may report that the program has ended meanwhile)
}

PORT=7300
for LEASED in '' 1; do
	net_up
	MODE=one
	# (In /tmp a killed program of another user may have left a file with the same process id.)
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP")
	one_broker
	[ -z "$LEASED" ] || moving
	[ -n "$LEASED" ] || { net_down; rm -rf "$TMP"; }
done
done_testing
