#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The wire emulator itself, against the kernel's sockets.
. "$(dirname "$0")/lib.sh"
net_up -w
COUNT=20000
SINK=$BUILD/tests/bench/udpsink
BLAST=$BUILD/tests/bench/udpblast
need "$BIN/wire" "$SINK" "$BLAST"

# Sends COUNT datagrams from a to b through the wire with these options; sets GOT, MIS, GAPS.
through() {
	wire_up "$@"
	bg b "$SINK" "$B4" 5000 seconds=20 rcvbuf=33554432 >"$TMP/sink" 2>"$TMP/sink.err"
	local sink=$BG
	wait_udp b 5000
	a taskset -c 0 "$BLAST" "$B4" 5000 count=$COUNT rate=20000 >/dev/null
	wait_until 10 settled || fail "the wire does not settle"
	stop "$sink"
	wire_down
	read -r GOT _ MIS GAPS <"$TMP/sink"
}
# All that went in has come out or is counted.
settled() {
	kill -USR1 "$WIRE"
	sleep 0.05
	local in out
	in=$(wire_stat ab in)
	out=$(($(wire_stat ab out) + $(wire_stat ab lost) + $(wire_stat ab overflow) - $(wire_stat ab dup)))
	[ "$in" -ge $COUNT ] && [ $out -ge "$in" ]
}
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }

through
same "a plain wire loses nothing" "$COUNT 0 0" "$GOT $MIS $GAPS"

through --loss 1% --seed 5
lost=$(wire_stat ab lost)
ok "1 % lost ($lost)" between "$lost" 120 300
same "what is missing is what the wire says" $((COUNT - lost)) "$GOT"
through --loss 1% --seed 5
same "the same seed loses the same number" "$lost" "$(wire_stat ab lost)"
through --loss 1% --dup 2% --reorder 3%/4 --seed 5
same "other options do not change what is lost" "$lost" "$(wire_stat ab lost)"
dup=$(wire_stat ab dup)
ok "2 % doubled ($dup)" between "$dup" 280 520
ok "3 % reordered ($(wire_stat ab reordered))" between "$(wire_stat ab reordered)" 450 750
same "all of them arrived" $((COUNT - lost + dup)) "$GOT"
ok "out of order: $MIS" between "$MIS" $((dup + 400)) $((dup + 800))
through --loss 1% --seed 6
ok "another seed, another fate" test "$(wire_stat ab lost)" != "$lost"

through --loss 2%/5 --seed 7
lost=$(wire_stat ab lost)
ok "2 % in runs of 5 is near 10 % ($lost)" between "$lost" 1500 2500
ok "what is missing is missing in runs ($GAPS)" between "$GAPS" $((lost - 4)) "$lost"

before=$(udp_stat b InCsumErrors)
through --corrupt 2% --seed 8
bad=$(wire_stat ab corrupt)
ok "2 % damaged ($bad)" between "$bad" 300 520
# A bit flipped in the IP or UDP header may also be dropped by address, length or port.
ok "damage is seen by the receiver" test "$GOT" -le $((COUNT - bad * 8 / 10))
ok "most of it by the UDP checksum" test $(($(udp_stat b InCsumErrors) - before)) -ge $((bad / 2))

through --ba --loss 100%
same "--ba leaves the other direction alone" "$COUNT" "$GOT"

through --rate 5mbit --limit 100
ok "a slow wire overflows its queue" test "$(wire_stat ab overflow)" -gt 100
through --rate 1000mbit --limit 3000 --delay 300ms # (some 6000 are on their way at a time)
same "what is on its way is in no queue" 0 "$(wire_stat ab overflow)"

wire_up --delay 30ms
ms=$(a python3 -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('$B4', 9)); s.settimeout(5)
best = 1e9
for _ in range(6):
    t = time.monotonic()
    try:
        s.send(b'x'); s.recv(1)
    except ConnectionRefusedError:
        best = min(best, time.monotonic() - t)
print(int(best * 1000))")
ok "30 ms each way is a round trip of 60 ($ms)" between "$ms" 59 120
wire_down

wire_up
rate=$( (a "$BLAST" "$B4" 5000 seconds=1) | cut -d' ' -f2)
wire_down
say "the wire passed $(wire_stat ab out) datagrams in a second of $rate/s"
done_testing
