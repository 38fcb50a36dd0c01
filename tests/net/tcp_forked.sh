#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server that forks a child for each connection (PostgreSQL, inetd): with the daemon the child takes its connection
# over, in the midst of traffic both ways, and no byte is lost or wrong. A connection that two processes use, or whose
# process is confined to a few system calls, stays the kernel's. Without the daemon all do.
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
export TMP
PORT=7400
# A child makes 500 receiving calls (and polls) with the kernel's connection, which are as many of the TURNS where it
# blocks, half as many where it polls: 35 and 20 % of the segments, so that half of them may be the kernel's.
TURNS=700 BYTES=4194304
server() { # KIND; its PID is in BG
	own=$B4
	[ "$1" != poll ] || own=$B6
	PORT=$((PORT + 1))
	bg pb "$BIN/forked" "$own" $PORT "$1" 2>"$TMP/b.$1"
	wait_tcp b $PORT
}
# (The first few connections are offloaded in the parent, and then handed over.)
few() { a timeout 30 python3 "$TESTS/net/tcp_forked.py" "$own" $PORT 10 20 8192; }
long() { a timeout 60 python3 "$TESTS/net/tcp_forked.py" "$own" $PORT "${TIMES:-1}" $TURNS $BYTES; }
server_end() { # KIND PID
	ok "$1: the server lives" kill -0 "$2"
	stop "$2"
	grep -v '^simulated NIC' "$TMP/b.$1" >"$TMP/errors"
	[ ! -s "$TMP/errors" ] || { fail "$1"; tail -n 5 "$TMP/errors"; }
}
counted() { # KINDS, whose connections are to be offloaded
	local kind
	for kind in "$@"; do
		server "$kind"
		differ "$kind.few" few
		segs_begin
		differ "$kind" long
		[ -z "${LEASED:-}" ] || segs_end "$kind" 50
		server_end "$kind" "$BG"
	done
}
# Handshakes that never end keep the listener on its way to the kernel meanwhile.
on_the_way() {
	local ghost=$NET4.77 mac=02:00:00:00:00:77 mac_b
	mac_b=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
	b ip neigh replace "$ghost" lladdr $mac dev "$DEV_B" nud permanent
	server block
	a env PYTHONPATH="$TESTS/net" python3 -c "import sys
from segpeer import *
net = Net(*sys.argv[1:])
for i in range(10):
	net.flow($PORT).put('S 0:0(0) win 1000')
	time.sleep(0.03)" "$DEV_A" $mac "$ghost" "$mac_b" "$own"
	differ block.few few
	segs_begin
	differ block long
	segs_end block 50
	server_end block "$BG"
}
together() { # KINDS
	local kind
	local -A servers jobs
	for kind in "$@"; do
		server "$kind"
		servers[$kind]=$BG
		{ few && long; } >"$TMP/out.$kind" 2>&1 &
		jobs[$kind]=$!
	done
	for kind in "$@"; do
		wait "${jobs[$kind]}"
		echo "status $?" >>"$TMP/out.$kind"
		differ "$kind" cat "$TMP/out.$kind"
		server_end "$kind" "${servers[$kind]}"
	done
}
peer_is_kernels
for MODE in $MODES; do
	counted ${COUNTED-block epoll ${LEASED:+grand poll}}
	[ -z "${LEASED:-}" ] || [ "$MODE" = kernel ] || on_the_way
	together ${KINDS-threads again shared confined poor seccomp number bare}
done
done_testing
