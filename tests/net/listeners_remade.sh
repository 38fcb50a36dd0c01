#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Two listeners share a port by SO_REUSEPORT, each in the lane of its thread. Their device is deleted and made anew: none of
# their connections is reset by the other's listener, neither those that came by the listener nor those that went
# to the kernel and were taken over.
. "$(dirname "$0")/lib.sh"
need python3
need_built
net_up
MODE=one
ROUNDS=${ROUNDS:-1}
moved() { local n && read -r n <"$TMP/told" && [ "$n" -ge "$1" ]; }
all_move() { local n && read -r n <"$TMP/told" && wait_until 20 moved $((n + 5)); }
remade() {
	ip -n "${NS}b" link del "$DEV_B"
	join a b "$DEV_A" "$DEV_B" 1 1500
	addr_up a "$DEV_A" "$A4/24" "$A6/64"
	addr_up b "$DEV_B" "$B4/24" "$B6/64"
	wait_until 10 link_is_up b "$DEV_B"
}
flow() { b "$BUILD/sluice" flow -k "$TMP" "$@"; }
lanes() { # of each lane, how many connections are there, in their order
	flow list --json -p "$server" 2>/dev/null | python3 -c '
import collections, json, sys
n = collections.Counter(f["lane"] for f in json.load(sys.stdin) if f["remote"] and f["where"] == "sluice")
print(*sorted(n.items()))'
}
SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" SLUICE_RING_ALLOCATION_LOGIC_RX=20)
bg sb python3 "$TESTS/net/listeners_remade.py" serve "$B4" 7950
server=$BG
wait_tcp b 7950
nap 200
bg a python3 "$TESTS/net/listeners_remade.py" ask "$B4" 7950 "$TMP" >"$TMP/asked"
client=$BG
wait_until 20 test -s "$TMP/told" && wait_until 20 moved 5 || die "no traffic"
was=$(lanes)
# (By verbs they share one; a device that is made anew is no NIC.)
n=2
[ "${RX:-}" != verbs ] || n=1
same "$n lanes have connections ($was)" $n "$(wc -w <<<"${was//, /,}")"
for round in $(seq "$ROUNDS"); do
	remade
	ok "round $round: all go on" all_move
done
same "they are in their lanes" "$was" "$(lanes)"
ok "handed back" flow hand-back -p "$server" --remote "$A4:*"
ok "taken over" wait_until 20 flow take-over -p "$server" --remote "$A4:*"
wait_until 10 eval '[ "$(lanes)" = "$was" ]'
same "each is in the lane of its listener again" "$was" "$(lanes)"
for round in $(seq "$ROUNDS"); do
	remade
	ok "taken over, round $round: all go on" all_move
done
touch "$TMP/stop"
wait_end "$client" 20
same "no connection was reset" "all right" "$(cat "$TMP/asked")"
stop "$server"
done_testing
