#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server of several threads, each with an epoll set and connections of its own, sleeps when nothing comes: none of
# them polls because packets came for another thread while it slept.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
mkfifo "$TMP/go"
value() { sed -n "s/^$2 //p" "$TMP/$1"; } # run, name
round() { # name, port
	bg pb python3 "$TESTS/net/idle_threads.py" server "$B4" "$2" 4 >"$TMP/$1"
	server=$BG
	for i in 0 1 2 3; do wait_tcp b $(($2 + i)); done
	a python3 "$TESTS/net/idle_threads.py" client "$B4" "$2" 4 <"$TMP/go" &
	exec 9>"$TMP/go"
	wait_line "$TMP/$1" '^ms' 30
	exec 9>&-
	wait_end "$server" 20 || fail "$1: the server: $?"
}
MODE=kernel round kernel 7000
MODE=one
round one 7010
ok "idle, its threads wake $(value one wakes) times in two seconds, by the kernel $(value kernel wakes)" \
	test "$(value one wakes)" -le $(($(value kernel wakes) + 100))
ok "they take $(value one ms) ms, by the kernel $(value kernel ms)" test "$(value one ms)" -le $(($(value kernel ms) * 2 + 8))
done_testing
