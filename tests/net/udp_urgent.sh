#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Urgent datagrams of a port have a thread of their own: a socket that is steered to DSCP 46, beside one that gets the
# rest, receives by a lane of its own when each thread has one (SLUICE_RING_ALLOCATION_LOGIC_RX=20). While the rest comes in a
# flood, not one packet of it passes through that lane, so no urgent one waits for its batches.
. "$(dirname "$0")/lib.sh"
net_up
need python3
need_built
MODE=one
URGENT=300 # of udp_urgent.py

# Sets ALL to the received packets of the urgent socket's lane, OWN and LANES to those of the socket and to the lanes in use.
look() {
	read -r LANES OWN ALL KERNEL < <(b "$BUILD/sluice" stat -k "$TMP" -p "$SERVER" --json | python3 -c '
import json, sys
s = json.load(sys.stdin)
socks = sorted((k for k in s["sockets"] if k["proto"].startswith("udp")), key=lambda k: k["rx_pkts"])
lanes = {l["id"]: l for l in s["lanes"]}
print(len({k["lane"] for k in socks}), socks[0]["rx_pkts"], lanes[socks[0]["lane"]]["rx_pkts"],
      sum(k["rx_os_pkts"] for k in socks))')
}
run() { # what, address, port, ring logic
	local what="$1 $2" end=$TMP/end.$3 flood
	rm -f "$end"
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "SLUICE_RING_ALLOCATION_LOGIC_RX=$4")
	bg sb python3 "$TESTS/net/udp_urgent.py" serve "$2" "$3" >"$TMP/serve"
	SERVER=$BG
	wait_line "$TMP/serve" ready
	bg a python3 "$TESTS/net/udp_urgent.py" flood "$2" "$3" "$end" >"$TMP/flood"
	flood=$BG
	a python3 "$TESTS/net/udp_urgent.py" ask "$2" "$3" >"$TMP/ask"
	touch "$end"
	wait_end "$flood" || fail "the flood failed"
	wait_line "$TMP/serve" "^rest"
	look
	read -r n median longest <"$TMP/ask"
	say "$what: $n urgent, median $median us, longest $longest us; beside $(cat "$TMP/flood"), $(tail -n 1 "$TMP/serve")"
	same "$what: every urgent question is answered" $URGENT "$n"
	same "$what: its socket had these and no others" "$URGENT 0" "$OWN $KERNEL"
	ok "$what: the flood came meanwhile" test "$(awk '/^rest/ { print $2 }' "$TMP/serve")" -gt $URGENT
	stop "$SERVER"
}

run "one lane" "$B4" 7340 0
same "one lane: both are there" 1 "$LANES"
ok "one lane: urgent packets are among the rest ($ALL)" test "$ALL" -gt $((2 * URGENT))
for to in "$B4" "$B6"; do
	run "a lane each" "$to" 734$((${#to} % 2 + 1)) 20
	same "a lane each $to: so it is" 2 "$LANES"
	same "a lane each $to: no packet of the rest is in the urgent lane" $URGENT "$ALL"
done
done_testing
