#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets that the steering tables have no entry for are the kernel's, and work; that is said once.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need python3
need_built
MODE=one
COUNT=700 # streams, and as many datagram sockets
export SLUICE_MAX_FLOWS=1
ulimit -Sn 4096 || skip "too few descriptors are allowed"
bg a python3 "$TESTS/net/echo_both.py" "$A4" 7000
wait_tcp a 7000
wait_udp a 7000
meet
bg sb python3 "$TESTS/net/flows_full.py" "$A4" 7000 $COUNT "$TMP/end" >"$TMP/out"
client=$BG
answered() { [ "$(wc -l <"$TMP/out")" = 2 ]; }
ok "all sockets are answered in time" wait_until 60 answered
same "datagram sockets, and streams, that are answered" "$COUNT $COUNT" "$(paste -sd' ' "$TMP/out")"
kernels=$(b ss -Htn state established "( dport = :7000 )" | wc -l)
ok "of $COUNT streams $kernels are the kernel's, for which there is no entry" test "$kernels" = $((2 * COUNT - 1024))
same "it is said once" 1 "$(grep -c 'steering table is full.*remedy' "$TMP/sluice.$client.log")"
touch "$TMP/end"
wait_end "$client" 20 || fail "it does not end"
done_testing
