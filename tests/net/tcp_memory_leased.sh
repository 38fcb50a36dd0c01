#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A remote host takes a program's packet memory, which it shares with others of its user: its own honest clients are
# served, and another program of the group notices nothing. (unsent: more connections than the program has frames.)
. "$(dirname "$0")/lib_lease.sh"
need python3
export SLUICE_FRAMES=16384 # a program may have a sixteenth of them; the attack could take all
lease_up -t
GHOST_MAC=02:00:5e:10:00:78
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.78
ip -n "${NS}b" neigh add "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
CONNS=${CONNS:-1150}
bg sb "$BIN/echo" "$B4" 7001
second=$BG
wait_udp b 7001
bg sb python3 "$TESTS/net/tcp_memory.py" serve "$B4" 7000
subject=$BG
wait_tcp b 7000
ok "both share the packet memory" wait_until 20 leases_are 2
bg a "$BIN/steady" -i 1000 "$B4" 7001 "$TMP/steady"
client=$BG
ok "the second is answered" wait_until 20 grows "$TMP/steady" 100
for kind in ${*:-tiny full unsent}; do
	a timeout 60 python3 "$TESTS/net/tcp_memory.py" attack "$DEV_A" "$G4" $GHOST_MAC "$B4" "$MAC_B" "$kind" \
		"$CONNS" >"$TMP/attack" || fail "$kind: the attack's end"
	same "$kind: the honest are served" 4 "$(grep -c "True True True" "$TMP/attack")"
	n=$(answered "$TMP/steady")
	ok "the second is answered still" wait_until 20 grows "$TMP/steady" $((n + 100))
done
same "no connection is lost on its way to the kernel" "" "$(grep -h "lost on its way" "$TMP"/sluice.*.log)"
stop "$client"
read -r sent got doubled wrong failed _ <"$TMP/steady"
same "and lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
kill -9 "$subject" 2>/dev/null
wait "$subject" 2>/dev/null
stop "$second"
done_testing
