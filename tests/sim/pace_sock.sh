#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_MAX_PACING_RATE of UDP sockets by the (simulated) NIC, measured by an independent receiver: a queue
# pair for each socket, as long as the device has rates; the lane's wheel for the others.
. "$(dirname "$0")/lib_pace.sh"
. "$TESTS/net/lib_pace.sh"

paced 10 130 1250 1000
paced 10 1200 1250 20000 leave
paced 10 8000 1250 200000
# (The send buffer holds 8 ms: a NIC makes up for nothing, so a sender that is delayed for longer is slower.)
paced 10 30000 1500 1000000 sndbuf=1000000
ok "no wheel" not logged 'wheel'

SIM_OPTIONS=rates=127
paced 20 160 500 "$(seq -s, 500 10 1130)" poll
ok "64 rates: no wheel" not logged 'wheel'

SIM_OPTIONS=rates=16,rate_max=50000,burst=0
begin 160 500 "$(seq -s, 250 10 880)" poll
ok "16 rates: 16 sockets by the NIC, 48 by the wheel" wait_until 20 are "16 48"
end "16 rates"
ok "16 rates: all are whole and in order" is_whole 160
ok "16 rates: the log says so" logged 'wheel: ENOSPC'
begin 3000 1250 60000
ok "out of range: by the wheel" wait_until 20 are "0 1"
end "out of range"
ok "out of range: whole and in order" is_whole 3000
SIM_OPTIONS=rates=0
begin 300 1250 10000
ok "a device without rates: by the wheel" wait_until 20 are "0 1"
end "no rates"
ok "no rates: whole and in order" is_whole 300
ok "no rates: the device says so, and is not asked" logged 'wheel: EOPNOTSUPP'
SIM_OPTIONS=rates=16,rate_max=50000,burst=0
begin 800 1250 10000 burst=12500
ok "a burst where the device knows none: by the NIC" wait_until 20 are "1 0"
end "no burst"
ok "no burst: whole and in order" is_whole 800

SIM_OPTIONS=rate_max=50000
for then in "20000 then=40000" "40000 then=15000 poll" "20000 then=0 poll" "20000 then=60000" "60000 then=20000 poll"; do
	changed 400 1250 "$then"
done
changed 100 1250 "0 then=10000" # (few enough for the send buffer)

# An error loses nothing: the wheel sends what has not left yet.
SIM_OPTIONS=
begin 600 1250 5000
wait_until 20 are "1 0" || fail "not by the NIC"
nic_control a "fail 50 4" >"$TMP/control"
same "fail: the NIC obeys" ok "$(cat "$TMP/control")"
end fail
ok "fail: whole and in order" is_whole 600
ok "fail: the wheel goes on" logged 'wheel from now on'
for fault in fatal "stall 1"; do
	begin 2000 1250 20000 poll
	wait_until 20 are "1 0" || fail "not by the NIC"
	nic_control a "$fault" >/dev/null
	go_on
	ok "$fault: the sender ends" wait_end "$SENDER" 60
	ok "$fault: the wheel goes on" logged 'wheel from now on'
	stop "$RECEIVER"
done
done_testing
