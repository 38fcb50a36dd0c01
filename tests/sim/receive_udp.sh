#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_RX_BACKEND=verbs on the simulated NIC: a preloaded program receives UDP by a queue pair to which rules of the
# NIC bring what its sockets claim. Neither XDP nor tc is on the device.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
SIM=$TMP/nic.a
BIN=$BUILD/tests/net
SL_ENV=(SLUICE_RX_BACKEND=verbs)

said() { grep -q -e "$1" "$TMP"/sluice.*.log; }

bg sa "$BIN/echo" "$A4" 7000
ECHO=$BG
wait_udp a 7000
b "$BIN/steady" -n 500 "$A4" 7000 "$TMP/answers"
say "  sent, answered, doubled, wrong, failed, gap: $(cat "$TMP/answers")"
same "all are answered, once" "500 500 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
ok "the log says so" said 'receives on .* by verbs (simulated0'
same "no XDP" "" "$(a ip -d link show "$DEV_A" | grep -o 'prog/xdp')"
nic_control a stat >"$TMP/stat"
RECEIVED=$(sed -n "s/^received //p" "$TMP/stat")
stop "$ECHO"
ok "$RECEIVED frames came by the queue" test "$RECEIVED" -ge 450
done_testing
