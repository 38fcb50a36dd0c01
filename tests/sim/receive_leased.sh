#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_RX_BACKEND=verbs with the daemon, which lends no queues of NICs: the program receives as by any daemon, and the
# log says why.
VERBS=1 LEASED=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
SL_ENV=(SLUICE_RX_BACKEND=verbs)
bg sa "$BUILD/tests/net/echo" "$A4" 7000
wait_udp a 7000
b "$BUILD/tests/net/steady" -n 60 "$A4" 7000 "$TMP/answers"
same "all are answered" "60 60 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
ok "the log says why not by verbs" grep -q 'not by verbs (sluiced lends no queues' "$TMP"/sluice.*.log
done_testing
