#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The simulated NIC puts on the wire what a bare verbs program gave it: content, order, checksums and segments, as an
# independent receiver on the other end of the cable sees them.
. "$(dirname "$0")/lib.sh"
sim_need
net_up

# Reports as good: no figure whose name has "bad" in it is other than 0.
nothing_bad() { ! grep -E '^(udp|tcp)_(bad|over)[a-z_0-9]* ' "$TMP/received" | grep -qv ' 0$'; }

for options in min_inline=0 min_inline=18 scheduled=0,real_time=0; do
	sim_up "$options"
	SIM_CAPTURE=$SIM/capture.pcap
	receive udp=3000
	ok "$options: UDP is sent" sim "$SIM_BIN/send" mixed count=3000 >"$TMP/sent"
	received
	same "$options: all datagrams" 3000 "$(value udp_frames)"
	same "$options: those with a VLAN tag have it" 600 "$(value udp_vlan)"
	ok "$options: content, order and checksums" nothing_bad
	inlined=$(sed -n 's/^inlined //p' "$TMP/sent") in_dm=$(sed -n 's/^in_dm //p' "$TMP/sent")
	ok "$options: $inlined inline, $in_dm from device memory" test "$inlined" -gt 500 -a "$in_dm" -gt 200
	same "$options: the NIC counted what went by device memory" "$in_dm" "$(counted dm_sends)"
	same "$options: the NIC counted the frames" 3000 "$(counted frames)"
	same "$options: nothing was dropped" 0 "$(counted drops)"
	same "$options: selective signalling" 188 "$(counted completions)"
	ok "$options: its report says simulated" grep -q simulated "$SIM"/report.*
	same "$options: the capture file" 3000 "$(python3 "$TESTS/sim/capture.py" "$SIM_CAPTURE" | sed -n 's/^frames //p')"
	SIM_CAPTURE=

	receive tcp=1000000 mss=1400
	ok "$options: TCP is sent" sim "$SIM_BIN/send" tso bytes=1000000 mss=1400 >"$TMP/sent"
	received
	same "$options: the whole stream" 1000000 "$(value tcp_bytes)"
	ok "$options: segments, their headers and checksums" nothing_bad
	sends=$(sed -n 's/^sends //p' "$TMP/sent" | tail -n 1)
	same "$options: PSH on the last segment of a send only" "$sends" "$(value tcp_psh)"
	same "$options: CWR on the first one only" "$sends" "$(value tcp_cwr)"
	ok "$options: $(value tcp_segments) segments of $sends sends" test "$(value tcp_segments)" -gt 700
done

sim_up tso=0
not_sent() { ! sim "$SIM_BIN/send" tso bytes=5000 2>"$TMP/err"; }
ok "without TSO large sends are errors" not_sent

# Stamps in real time: the device's own, or its cycles converted. Each between post and poll.
sim_up
ok "wall clock is asked for" sim "$SIM_BIN/send" wallclock >"$TMP/sent"
ok "a real-time clock's stamp" grep -qE 'stamp in (ns|s\.ns)' "$TMP/sent"
sim_up real_time=0
ok "wall clock is asked for, of cycles" sim "$SIM_BIN/send" wallclock >"$TMP/sent"
ok "cycles are converted" grep -q 'stamp in ns' "$TMP/sent"
done_testing
