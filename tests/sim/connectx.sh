#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# conf/connectx-check, which is for real hardware, runs on the simulated NIC: it finds what the NIC has, says what it
# lacks, and its own socket sends by verbs.
. "$(dirname "$0")/lib.sh"
sim_need
need python3 ethtool
net_up
check() { # what it sees on host a
	SLUICE=$BUILD/sluice sim bash "$TESTS/../conf/connectx-check" "$DEV_A" "$@" >"$TMP/report" 2>&1
}
says() { grep -qE "^  $1 +$2" "$TMP/report" || { sed 's/^/# /' "$TMP/report"; return 1; }; }
sim_up ""
check "$B4"
ok "it says that points are open" test $? = 1
ok "a veth is no ConnectX" says CHECK "driver .* not mlx5_core"
ok "the RDMA device is found" says ok simulated0
ok "so are raw-packet queue pairs" says ok "raw-packet queue pairs"
ok "and pacing" says ok "pacing by the NIC"
ok "a veth has no zero-copy" says CHECK "no zero-copy"
ok "the socket sends by verbs" says ok "sends by verbs"
ok "all of it" says ok "100 datagrams sent to $B4"
ok "it asks for the report" grep -q "points to look at. Please send" "$TMP/report"
check_nothing() { bash "$TESTS/../conf/connectx-check" nosuchdevice >"$TMP/report" 2>&1; [ $? = 2 ]; }
ok "a device that is not there is an error" check_nothing
done_testing
