#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_MAX_PACING_RATE of TCP sockets by the (simulated) NIC: a rate that changes or goes, a connection that is handed
# back to the kernel, and a NIC that fails. No byte is lost or reordered.
. "$(dirname "$0")/lib_pace.sh"
need socat

# Sends a stream of random bytes; the words say what happens in the midst of it.
stream() { # bytes, rate, words...
	rm -f "$TMP"/sluice.*.log "$TMP/go"
	head -c "$1" /dev/urandom >"$TMP/stream"
	bg b socat -u TCP-LISTEN:7001,reuseaddr "OPEN:$TMP/got,creat,trunc"
	GOT=$BG
	wait_tcp b 7001
	DISORDER=$(disorder)
	bg sa python3 "$TESTS/sim/pace_tcp_moves.py" "$B4" 7001 "$TMP/stream" "${@:2}" >"$TMP/sent"
	SENDER=$BG
}
arrived() { # what
	ok "$1: the sender ends" wait_end "$SENDER" 60
	wait_end "$GOT" 20
	ok "$1: not a byte is lost" cmp "$TMP/stream" "$TMP/got"
	sed -n 's/^srtt/  srtt/p' "$TMP/sent"
}
# Prints how many segments b's kernel received out of order.
disorder() {
	b cat /proc/net/netstat | awk '/^TcpExt:/ { if (n++) print $i; else for (i = 2; $i != "TCPOFOQueue"; i++); }'
}
in_order() { [ "$(disorder)" = "$DISORDER" ]; }
has_kernel() { [ -n "$(a ss -tnH state established dport = :7001)" ]; }
srtt() { sed -n 's/^srtt \([0-9]*\).*/\1/p' "$TMP/sent"; }

# (The receiver acknowledges every second segment, so a round trip takes at least that long.)
stream 1000000 250000 "wait=$TMP/go"
ok "2 Mbit/s: by the NIC" wait_until 20 are "1 0"
: >"$TMP/go"
arrived "2 Mbit/s"
ok "2 Mbit/s: in order" in_order
by_nic=$(srtt)
SL_ENV=(SLUICE_TX_BACKEND=xsk)
stream 1000000 250000
arrived "2 Mbit/s by AF_XDP"
SL_ENV=()
ok "what waits in the NIC is no round trip: $by_nic us, by the wheel $(srtt)" test "$by_nic" -lt $(($(srtt) + 8000))

stream 4000000 2500000 rate=5000000 rate=1000000 rate=2000000
arrived "another rate"
ok "another rate: in order" in_order
ok "another rate: by the NIC" not logged wheel
stream 4000000 1000000 rate=0
arrived "none"
ok "none: in order" in_order
stream 4000000 2500000 rate=0 rate=2500000
arrived "none and back"
ok "none and back: in order" in_order
stream 2000000 1000000 fork
arrived "a fork"
ok "a fork: in order" in_order
ok "a fork: by the NIC" not logged wheel
stream 2000000 1000000 stamps "wait=$TMP/go" stamps
: >"$TMP/go"
arrived "stamps"
stamps=$(sed -n 's/^stamps //p' "$TMP/sent")
ok "$stamps stamps of the hardware" test "$stamps" -gt 10
stream 1000000 1000000 rate=60000
arrived "a rate too slow for TCP"
ok "a rate too slow for TCP: in order" in_order
for rate in 250000 12500000; do
	stream $((rate * 3)) $rate leave "wait=$TMP/go"
	wait_until 20 grep -q waiting "$TMP/sent" || fail "it does not leave"
	ok "$rate bytes/s to the kernel: it has it" has_kernel
	: >"$TMP/go"
	arrived "$rate bytes/s to the kernel"
done

SIM_OPTIONS=rates=0
stream 500000 500000 "wait=$TMP/go"
ok "a device without rates: by the wheel" wait_until 20 are "0 1"
: >"$TMP/go"
arrived "no rates"
SIM_OPTIONS=

for fault in "fail 50 4" fatal unplug "stall 1"; do
	stream 2500000 500000
	wait_until 20 are "1 0" || fail "not by the NIC"
	nic_control a "$fault" >"$TMP/control"
	same "$fault: the NIC obeys" ok "$(cat "$TMP/control")"
	ok "$fault: the wheel goes on" wait_until 20 logged 'wheel from now on'
	arrived "$fault"
	[ -d "$TMP/nic.a/unplugged" ] && mv "$TMP/nic.a/unplugged" "$TMP/nic.a/sys/class/infiniband_verbs/uverbs0"
done
done_testing
