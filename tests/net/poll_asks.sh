#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server that waits for an offloaded connection, a pipe and a timer polls without asking the kernel for the latter all
# the time, by epoll and by poll(2), and hears of them nevertheless. It has a core to itself, so that it may poll.
. "$(dirname "$0")/lib_tcp.sh"
need python3 perf
perf stat -e syscalls:sys_enter_epoll_pwait -- true 2>/dev/null || skip "perf cannot count system calls here"
net_up
MODE=one
for how in epoll poll; do
	meet
	bg pb python3 "$TESTS/net/poll_asks.py" server "$B4" 7000 $how >"$TMP/$how"
	server=$BG
	wait_tcp b 7000
	bg a python3 "$TESTS/net/poll_asks.py" client "$B4" 7000
	client=$BG
	wait_line "$TMP/$how" begun
	perf stat -x ' ' -e syscalls:sys_enter_epoll_pwait,syscalls:sys_enter_ppoll -t "$server" -o "$TMP/count" -- sleep 1
	asks=$(awk '$1 + 0 == $1 { n += $1 } END { print n + 0 }' "$TMP/count")
	wait_end "$client" 20 || fail "$how: the client: $?"
	wait_end "$server" 20 || fail "$how: the server: $?"
	replies=$(sed -n 's/^replies //p' "$TMP/$how")
	ok "$how: it asked the kernel $asks times in a second" test "$asks" -le $((40000 + replies * 4))
	ok "$how: the pipe and the timer were heard of: $(tail -n 1 "$TMP/$how")" grep -q "^pipe [1-9][0-9]* timer [1-9]" "$TMP/$how"
done
done_testing
