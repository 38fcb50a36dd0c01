#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_MAX_PACING_RATE of UDP sockets on the lane's timing wheel, measured by an independent receiver.
# No flow may be faster than its rate, in any run; a flow may be slower where the machine does not let the
# library run in time, so slow flows get further tries.
unset SLUICE_STATS_SHMEM_DIR # (its own directory, so that the list has no other program's sockets)
. "$(dirname "$0")/lib.sh"
. "$TESTS/net/lib_pace.sh"
need python3
net_up
peer_is_kernels
for MODE in $MODES; do
	differ options4 pb python3 "$TESTS/net/pace_opts.py" "$B4" "$A4" 7000
	differ options6 pb python3 "$TESTS/net/pace_opts.py" "$B6" "$A6" 7000
done
MODE=software

# The first datagrams go through the kernel, while the neighbour is asked for: at the rate, too.
paced 10 130 1250 1000
paced 10 1600 1250 20000
paced 10 12000 1250 200000
paced 10 50000 1500 1000000
say "ways to send"
paced 10 1000 1250 20000 mmsg poll
paced 10 1000 1250 20000 gso
paced 10 1000 1250 20000 leave burst=12500
say "64 sockets"
paced 20 160 500 "$(seq -s, 500 10 1130)" poll
say "sluice pace"
bg b "$BIN/pace_receive" "$DEV_B" "$PORT" 2000 500,700 >"$TMP/paced"
RECEIVER=$BG
wait_line "$TMP/paced" listening
bg sa "$BIN/pace_send" "$B4" "$PORT" 2000 1250 500,700 poll >"$TMP/sent"
listed() {
	"$BUILD/sluice" pace -k "$TMP/stats" -j >"$TMP/list" && python3 - "$TMP/list" wheel ${VERBS:+nic} <<-'EOF'
		import json, sys
		l = sorted(json.load(open(sys.argv[1])), key=lambda s: s["asked_kbps"])
		right = [s["asked_kbps"] for s in l] == [500, 700] and all(s["by"] in sys.argv[2:] for s in l)
		sys.exit(not right or not all(0 < s["measured_kbps"] <= 1.01 * s["asked_kbps"] for s in l))
	EOF
}
ok "lists what was asked and measured" wait_until 20 listed
stop "$BG" "$RECEIVER"
say "changes under way"
for then in "20000 then=60000" "60000 then=15000 poll" "20000 then=0 poll"; do
	changed 600 1250 "$then"
done
changed 100 1250 "0 then=10000" # (few enough for the send buffer)
done_testing
