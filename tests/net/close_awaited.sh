#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# close() or dup2() over a connection on which another thread sleeps, or that it makes: the call goes on, gets the data
# that still come, and the peer sees the end when it has returned, not before.
. "$(dirname "$0")/lib.sh"
net_up
b sysctl -qw "net.ipv4.neigh.$DEV_B.mcast_solicit=1" # (an address that nobody has is told in a second)
bg a python3 "$TESTS/net/close_awaited.py" peer "$A4"
wait_tcp a 7000
SL_ENV+=("SLUICE_LOG_FILE=$TMP/log")
for MODE in kernel one; do # (the peer is not preloaded)
	for how in close dup2 data connect; do
		differ $how pb timeout 30 python3 "$TESTS/net/close_awaited.py" $how "$A4"
	done
done
ok "offloaded" grep -q "offloaded" "$TMP/log"
done_testing
