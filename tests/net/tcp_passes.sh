#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A connection under checked traffic both ways goes through programs that become one another by
# execve, and back and forth between two processes by SCM_RIGHTS: not a byte is wrong or missing, and
# each program offloads it again. Embedded, and unprivileged by a daemon (two processes on one device
# need one).
. "$(dirname "$0")/lib_tcp.sh"
PASSES=${PASSES:-30} # so often by SCM_RIGHTS
EXECS=${EXECS:-5}   # so often by execve, each time a new library, and a new lease
need_built

# exec or pass, subject's role, address family
run() {
	local how=$1 role=$2 own=B$3 peer=A$3 what="$1, $2, IPv$3" subject other path=$TMP/link second=
	local times=$PASSES
	[ "$how" = pass ] || times=$EXECS
	PORT=$((PORT + 1))
	rm -f "$path"
	if [ "$role" = listen ]; then
		bg sb "$BIN/passes" "$how" listen "${!own}" "${!peer}" $PORT "$times" "$path" >"$TMP/b" 2>&1
		subject=$BG
		if [ "$how" = pass ]; then
			wait_until 20 test -S "$path"
			bg sb "$BIN/passes" other "$path" >"$TMP/c" 2>&1
			second=$BG
		fi
		wait_tcp b $PORT
		bg a "$BIN/passes" peer connect "${!peer}" "${!own}" $PORT >"$TMP/a" 2>&1
		other=$BG
	else
		bg a "$BIN/passes" peer listen "${!peer}" "${!own}" $PORT >"$TMP/a" 2>&1
		other=$BG
		wait_tcp a $PORT
		bg sb "$BIN/passes" "$how" connect "${!own}" "${!peer}" $PORT "$times" "$path" >"$TMP/b" 2>&1
		subject=$BG
		if [ "$how" = pass ]; then
			wait_until 20 test -S "$path"
			bg sb "$BIN/passes" other "$path" >"$TMP/c" 2>&1
			second=$BG
		fi
	fi
	both_end "$what" "$subject" "$other" $((60 + times * 2)) || return
	[ -z "$second" ] || ok "$what: the second process" wait_end "$second" 10
	[ -z "$second" ] || cat "$TMP/c" >>"$TMP/b"
	local sent got moved ours kernels
	read -r _ sent _ got <<<"$(grep -h ^sent "$TMP/b")"
	read -r _ moved _ ours _ kernels <<<"$(grep -h ^moved "$TMP/b")"
	same "$what: all bytes arrived" "sent $got got $sent" "$(grep ^sent "$TMP/a")"
	same "$what: moved" "$times" "$moved"
	pass "$what: $sent and $got bytes, Sluice's in $ours of $((ours + kernels)) places"
	# (A place may be the kernel's: the connection moves on too fast to be taken over, or the machine is busy. Each
	# place waits two seconds for the take-over.)
	ok "$what: offloaded, but for $kernels of $((ours + kernels)) places" test $((kernels * 5)) -le "$ours"
}

# The daemon keeps device and memory for a moment for a process that becomes another program, and no longer.
released() { grep -c ": released" "$TMP/sluice.db.log"; }
no_device() { [ -z "$(SLUICE_DAEMON=$TMP/sluiced.b "$BUILD/sluice" daemon ports | tail -n +2)" ]; }
becomes_another() {
	wait_until 20 no_device
	bg sb python3 -c '
import os, socket, sys, time
l = socket.create_server((sys.argv[1], 7900))
while not os.path.exists(sys.argv[3]):
    time.sleep(0.01)
if sys.argv[2] != "0":
    os.execve("/bin/sleep", ["sleep", "60"], {})
os.kill(os.getpid(), 9)' "$B4" "$1" "$TMP/go.$1"
	ok "$2: has the device" wait_until 20 not no_device
	touch "$TMP/go.$1"
	ok "$2: the device is given back" wait_until 20 no_device
	stop "$BG"
}

# A process that has passed the connection on dies: the process that has it now keeps it.
chain() { # address family, "now" or nothing
	local own=B$1 what="a chain, IPv$1${2:+, $2}" dir=$TMP/chain$1
	mkdir -m 777 "$dir"
	bg sb python3 "$TESTS/net/tcp_chain.py" keep "$dir/c"
	local c=$BG
	bg sb python3 "$TESTS/net/tcp_chain.py" pass "$dir/b" "$dir/c"
	bg sb python3 "$TESTS/net/tcp_chain.py" listen "${!own}" 7800 "$dir/b"
	wait_until 20 test -S "$dir/c" && wait_until 20 test -S "$dir/b" && wait_tcp b 7800
	same "$what: goes on when those are killed that had it before" ours \
		"$(a python3 "$TESTS/net/tcp_chain.py" client "${!own}" 7800 $2 2>&1)"
	ok "$what: the last one ends" wait_end "$c" 10
}

PORT=7000
for LEASED in '' 1; do
	net_up
	MODE=${LEASED:+leased}
	MODE=${MODE:-one}
	[ "$EXECS" = 0 ] || run exec connect 4
	[ -z "$LEASED" ] || [ "$EXECS" = 0 ] ||
		ok "it is not taken off for each program" test "$(released)" -le $((1 + EXECS / 4))
	[ "$EXECS" = 0 ] || run exec listen 6
	[ -z "$LEASED" ] || [ "$PASSES" = 0 ] || run pass connect 6
	[ -z "$LEASED" ] || [ "$PASSES" = 0 ] || run pass listen 4
	[ -z "$LEASED" ] || chain 4 ''
	[ -z "$LEASED" ] || chain 6 now
	[ -z "$LEASED" ] || becomes_another 1 "a program without us"
	[ -z "$LEASED" ] || becomes_another 0 "a killed one"
	[ -n "$LEASED" ] || { net_down; rm -rf "$TMP"; }
done
done_testing
