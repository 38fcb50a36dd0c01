#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The link goes and comes back while a message is on its way. The library sends it again when the link and the neighbour
# are back, and does not wait for the next time-out, which is almost as far away as the message is old.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
bg a python3 "$TESTS/net/link_back.py" serve "$A4" 7001
wait_tcp a 7001
set_link() { while :; do while read -r state; do ip -n "${NS}a" link set "$DEV_A" "$state"; done <"$TMP/link"; done; }
mkfifo -m 622 "$TMP/link"
set_link &
PIDS+=($!)
MODE=one
mkdir -m 777 "$TMP/result"
ok "the message arrives" pb python3 "$TESTS/net/link_back.py" ask "$A4" 7001 "$TMP/link" "$TMP/result/times"
read -r away back <"$TMP/result/times"
say "the link was away for $away ms, the answer came $back ms after its return"
ok "the answer comes soon" test $((back * 4)) -le "$away"
done_testing
