#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connections with checked bytes both ways follow what changes: a rule sends them to the kernel and,
# when it goes, back, and
# who waits in a listener's queue is served; the steering program is taken off; the device goes and another one leads to the
# peer. Not a byte is wrong, and no connection is reset.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need "$BIN/tcp_swarm" bpftool
[ -e "$PRELOAD" ] || skip "the library is not built"
N=8
SLUICE=$BUILD/sluice
MODES=${MODES/kernel/}

# Connections of the port that a kernel has, without those that have ended.
kernels() { "$1" ss -Htn state connected exclude time-wait "( sport = :$2 or dport = :$2 )" | wc -l; }
has() { [ "$(kernels "$1" "$2")" "$3" "$4" ]; }
tcp_stat() { "$1" awk -v col="$2" '$1 == "Tcp:" && !n { for (i = 2; i <= NF; i++) if ($i == col) n = i; next }
	$1 == "Tcp:" { print $n }' /proc/net/snmp; }
resets() { tcp_stat a EstabResets; }
# A new connection came by b's kernel.
kernel_accepts() {
	a timeout 2 bash -c ": <>/dev/tcp/$B4/$PORT" 2>/dev/null
	[ "$(tcp_stat b PassiveOpens)" -gt "$BEFORE" ]
}

# role, address family: the swarm is under way, and offloaded
begin() {
	local own=B$2 peer=A$2 args
	FAR=${FAR:-${!peer}}
	PORT=$((PORT + 1))
	args="$PORT $N $N $PORT ${SIZE:-3000000}"
	BEFORE=$(resets)
	# shellcheck disable=SC2086
	if [ "$1" = listen ]; then
		SWARM_US=4000 bg pb "$BIN/tcp_swarm" listen "${!own}" "$FAR" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
		wait_tcp b $PORT
		SWARM_US=4000 bg pa "$BIN/tcp_swarm" connect "$FAR" "${!own}" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
	else
		SWARM_US=4000 bg pa "$BIN/tcp_swarm" listen "$FAR" "${!own}" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
		wait_tcp a $PORT
		SWARM_US=4000 bg pb "$BIN/tcp_swarm" connect "${!own}" "$FAR" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
	fi
	sleep 0.7
	same "$WHAT: offloaded" 0 "$(kernels b $PORT)"
}
end() {
	wait_end "$SUBJECT" 120 || fail "$WHAT: the subject failed: $(cat "$TMP/b")"
	wait_end "$OTHER" 60 || fail "$WHAT: the peer failed: $(cat "$TMP/a")"
	pass "$WHAT: $(cat "$TMP/b")"
	[ "$MODE" = both ] || same "$WHAT: no reset" "$BEFORE" "$(resets)"
}
PORT=7100

for MODE in $MODES; do
	# Who waits in a listener's queue is not reset: it goes to the kernel when the queue is empty.
	WHAT="a rule while connections are queued"
	PORT=$((PORT + 1))
	bg pb python3 "$TESTS/net/tcp_queued.py" server "$B4" $PORT "$TMP/go"
	OTHER=$BG
	wait_tcp b $PORT
	bg pa python3 "$TESTS/net/tcp_queued.py" client "$B4" $PORT >"$TMP/a" 2>&1
	SUBJECT=$BG
	wait_line "$TMP/a" waiting
	BEFORE=$(tcp_stat b PassiveOpens)
	ok "$WHAT: it is added" b "$SLUICE" rule add --device "$DEV_B" use os tcp_server '*:*'
	sleep 1.5
	touch "$TMP/go"
	ok "$WHAT: all are served" wait_end "$SUBJECT" 30
	ok "$WHAT: the listener goes to the kernel" wait_until 20 kernel_accepts
	ok "$WHAT: it is removed" b "$SLUICE" rule del --device "$DEV_B" 1
	stop "$OTHER"
	rm "$TMP/go"
done
done_testing
