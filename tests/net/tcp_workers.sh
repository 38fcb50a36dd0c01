#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Forked workers that accept from one listener, or from one each on the same port: by the daemon each has lanes
# and a part of the connections; workers come, leave and die, and nobody else's connection is harmed.
LEASED=1
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
need_built
MODES="kernel one"
ours() { # few|nap, address: asserts that the kernel has no part in these connections
	local segs
	segs=$(tcp_segs b)
	a timeout 60 python3 "$TESTS/net/tcp_workers.py" "$1" "$2" $PORT >/dev/null && [ "$(tcp_segs b)" = "$segs" ]
}
any_ours() { # few|nap, address
	ours "$@" || ours "$@" || ours "$@" || ours "$@"
}
export TMP
PORT=7300
for MODE in $MODES; do
	meet
	[ "$MODE" = kernel ] || export SPREAD=1
	for how in one each poll; do
		fam=4
		[ $how != each ] || fam=6
		own=B$fam
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_workers.py" server "${!own}" $PORT 2 $how
		wait_tcp b $PORT
		[ "$MODE" = kernel ] || ok "$how: the workers have lanes, and connections" wait_until 20 ours few "${!own}"
		segs_begin
		differ "$how" a timeout 100 python3 "$TESTS/net/tcp_workers.py" client "${!own}" $PORT 2 $how
		segs_end "$how" 50 # (some come before, and some were in the queue of a worker that left)
		kill -9 "$BG" # (the workers follow; what their peers are told is the kernel's)
		wait "$BG" 2>/dev/null
	done
	# A connection stays ours while its worker waits for 80 ms; tried several times, since a worker may be kept from
	# running for longer.
	if [ "$MODE" != kernel ]; then
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_workers.py" server "$B4" $PORT 2 one
		wait_tcp b $PORT
		ok "workers have connections" wait_until 20 ours few "$B4"
		ok "who waits for a moment stays" any_ours nap "$B4"
		stop "$BG"
	fi
	# A process that accepts for its children gains nothing from Sluice: the listener goes to the kernel.
	PORT=$((PORT + 1))
	bg pb python3 "$TESTS/net/tcp_workers.py" children "$B4" $PORT
	wait_tcp b $PORT
	for _ in 1 2 3; do
		ok "children answer" a timeout 60 python3 "$TESTS/net/tcp_workers.py" connect "$B4" $PORT
	done
	kernel_accepts() {
		local before
		before=$(tcp_stat b PassiveOpens)
		a timeout 2 bash -c ": <>/dev/tcp/$B4/$PORT" 2>/dev/null
		[ "$(tcp_stat b PassiveOpens)" -gt "$before" ]
	}
	ok "the kernel accepts for them" wait_until 20 kernel_accepts
	stop "$BG"
done
done_testing
