#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server that forks a child for each connection (PostgreSQL, inetd): by the daemon the child takes its
# connection over, in the midst of traffic both ways, and not a byte is lost or wrong; one that two processes use,
# or whose process is confined to a few system calls, stays the kernel's. So do all without the daemon.
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
export TMP
PORT=7400
everyone() { # the kinds, those that are to be ours with what the kernel may see of them, in percent
	local how percent own kind
	for kind in ${KINDS:-block:50 grand:50 poll:30 epoll:30 threads again shared confined poor seccomp}; do
		how=${kind%:*} percent=${kind#"$how"} percent=${percent#:}
		own=$B4
		[ $how != poll ] || own=$B6
		PORT=$((PORT + 1))
		bg pb "$BIN/forked" "$own" $PORT $how 2>"$TMP/b"
		server=$BG
		wait_tcp b $PORT
		# The first few are ours in the parent, and handed over.
		differ "$how.few" a timeout 30 python3 "$TESTS/net/tcp_forked.py" "$own" $PORT 10 20 8192
		# A child makes 500 calls with the kernel's: by two calls a turn (block, grand) that are 250 of these turns.
		segs_begin
		differ "$how" a timeout 40 python3 "$TESTS/net/tcp_forked.py" "$own" $PORT "${TIMES:-2}" 800 2097152
		[ -z "${LEASED:-}" ] || [ -z "$percent" ] || segs_end "$how" "$percent"
		alive "$server"
		stop "$server"
		[ ! -s "$TMP/b" ] || { fail "$how"; tail -n 5 "$TMP/b"; }
	done
}
alive() { ok "the server lives" kill -0 "$1"; }
for MODE in ${MODES/ both/}; do
	everyone
done
done_testing
