#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each fault of the simulated NIC looks as on hardware, and the backend recovers where that is possible (fault.c).
. "$(dirname "$0")/lib.sh"
sim_need
net_up

for fault in fatal unplug syndromes bad_memory stall full_queue lost_event link_down failing_calls \
	rates device_memory; do
	sim_up
	ok "$fault" sim "$SIM_BIN/fault" "$fault"
done
sim_up rates=127
ok "the 128th of 127 rates" sim "$SIM_BIN/fault" rates 127
sim_up burst=0
ok no_burst sim "$SIM_BIN/fault" no_burst

# A process without the right to raw packets gets no queue pair for them.
sim_up deny_raw=1
denied() { # command...
	"$@" 2>"$TMP/err"
	grep -q 'cannot set the queue up: Operation not permitted' "$TMP/err"
}
ok "raw packets denied by the device" denied sim "$SIM_BIN/send" plain
sim_up
chmod -R a+rX "$TMP"
chmod 777 "$SIM"
ok "raw packets denied to who lacks CAP_NET_RAW" denied sim setpriv --bounding-set=-net_raw \
	--inh-caps=-net_raw --reuid=65534 --regid=65534 --clear-groups "$SIM_BIN/send" plain
done_testing
