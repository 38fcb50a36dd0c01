#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Packets leave by the transmit queue that mqprio gives their priority, and follow it when it changes. The kernel here
# has no mqprio: the library is told of one (tests/vlan/told.c). The peer counts what came by each queue of its veth.
. "$(dirname "$0")/lib.sh"
need python3 ethtool
PRELOAD=$BUILD/tests/vlan/libsluice-preload.so
[ -e "$PRELOAD" -a -e "$BIN/pass.bpf.o" ] || skip "there is no stand-in"
net_up -q 4
MODE=one
ip -n "${NS}a" link set "$DEV_A" xdp obj "$BIN/pass.bpf.o" sec xdp || skip "no XDP" # (it counts by queue then)
classes() { ip -n "${NS}b" link set "$DEV_B" alias "mqprio $*"; }
counts() { a ethtool -S "$DEV_A" | sed -n 's/^ *rx_queue_\([0-3]\)_xdp_packets: //p' | tr '\n' ' '; }
# Sends once more and prints the hundreds of packets that came by each queue.
sent() {
	local was now i
	read -r -a was < <(counts)
	echo >&"$GO"
	wait_until 10 eval '[ "$(grep -c sent "$TMP/out")" = '"$1"' ]' || return
	read -r -a now < <(counts)
	for i in 0 1 2 3; do echo -n "$(((now[i] - was[i] + 20) / 100)) "; done
}
classes 2:1 5:3
bg a python3 "$TESTS/net/classes.py" answer "$A4" >"$TMP/answer"
wait_line "$TMP/answer" ready
mkfifo "$TMP/go"
exec {GO}<>"$TMP/go"
bg sb python3 "$TESTS/net/classes.py" send "$A4" <"$TMP/go" >"$TMP/out"
wait_line "$TMP/out" ready
out=$(udp_stat b OutDatagrams)
same "queue 1 has priority 2, queue 3 priority 5" "1 2 0 7 " "$(sent 1)"
classes 2:2 5:1
same "the change is followed" "1 7 2 0 " "$(sent 2)"
classes
same "without classes each lane has one queue" "4 6 0 0 " "$(sent 3)"
same "none by the kernel" 0 $(($(udp_stat b OutDatagrams) - out))
done_testing
