#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_RX_BACKEND=verbs on the simulated NIC, with a lane for each thread: listeners of several threads on one port all
# get connections (they share a lane, to which the port's rule leads); datagrams reach sockets of all lanes; when packet
# memory has no room for more receive queues the sockets of further lanes stay with the kernel, which is said.
VERBS=1
. "$(dirname "$0")/lib.sh"
need python3
net_up
MODE=simulated
SL_ENV=(SLUICE_RX_BACKEND=verbs SLUICE_RING_ALLOCATION_LOGIC_RX=20)

bg sa python3 "$TESTS/sim/receive_lanes.py" serve "$A4" 7000 4 >"$TMP/ready"
SERVER=$BG
wait_line "$TMP/ready" ready 30
SEGMENTS=$("$BUILD/tests/net/counters" Tcp InSegs "/run/netns/${NS}a")
same "each connection is answered, and each listener has some" "120 4" \
	"$(b python3 "$TESTS/sim/receive_lanes.py" ask "$A4" 7000 120)"
ok "the kernel saw none of their segments" \
	test $(($("$BUILD/tests/net/counters" Tcp InSegs "/run/netns/${NS}a") - SEGMENTS)) -le 8
ok "by verbs" logged 'receives on .* by verbs (simulated0'
stop "$SERVER"
rm -f "$TMP"/sluice.*.log

# (Each socket a lane of its own.)
SL_ENV=(SLUICE_RX_BACKEND=verbs SLUICE_RING_ALLOCATION_LOGIC_RX=10)
bg b python3 "$TESTS/net/lanes.py" serve "$B4" 7000
wait_udp b 7000
same "80 lanes: each question has its answer" 3200 "$(sa python3 "$TESTS/net/lanes.py" ask "$B4" 7000 80 40 2>/dev/null)"
ok "and the log says that some are the kernel's" logged 'has no place on .*packet memory has no room for one more receive queue'
done_testing
