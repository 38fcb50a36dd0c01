#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# While a program sleeps or computes, its host answers segments beyond a hole, a FIN, a window that opens, full segments
# and the ACK that a short write waits for about as soon as the kernel does. The peer speaks TCP by raw frames.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
GHOST_MAC=02:00:5e:10:00:79 GHOST=$NET4.79
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
ip -n "${NS}b" neigh add "$GHOST" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
ROUNDS=${ROUNDS:-9}
# How long half of the answers of a kind took, in us.
median() { awk -v kind="$2" '$1 == kind { print $(int(NF / 2) + 1) }' "$TMP/$1"; } # run, kind
measure() { # how the program is away: by the kernel, then by us
	local server
	for MODE in kernel one; do
		bg pb python3 "$TESTS/net/tcp_answers.py" server "$B4" 7000 "$1"
		server=$BG
		wait_tcp b 7001
		a timeout 60 python3 "$TESTS/net/tcp_answers.py" peer "$DEV_A" "$GHOST" $GHOST_MAC "$B4" "$MAC_B" 7000 \
			"$ROUNDS" >"$TMP/$MODE.$1" || fail "$1: the peer: $?"
		stop "$server"
	done
}
is_soon() { # how, kind: sets US and KERNEL
	local spare=3000
	[ "$1" = sleep ] || spare=15000 # (the library's thread shares the cores with a program that computes)
	US=$(median "one.$1" "$2") KERNEL=$(median "kernel.$1" "$2")
	[ "${US:-999999}" -le $((KERNEL * 3 + spare)) ]
}
all_soon() { # how
	local kind
	for kind in hole fin window nagle; do is_soon "$1" $kind || return; done
}
for how in sleep compute; do
	for _ in 1 2 3; do # (a busy machine may keep the library's thread from a core for most of a run)
		measure $how
		! all_soon $how || break
	done
	for kind in hole fin window nagle; do
		is_soon $how $kind && pass "$how, $kind: $US us, the kernel $KERNEL us" ||
			{ fail "$how, $kind: $US us, the kernel $KERNEL us"; cat "$TMP/one.$how"; }
	done
done
done_testing
