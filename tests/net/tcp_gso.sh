#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# In copy mode large sends go whole, by a packet socket, and are segmented by the device or the kernel. A packet that
# this way does not take goes by the ring; all packets do where it may not or must not be used.
. "$(dirname "$0")/lib.sh"
[ -z "${VERBS:-}" ] || skip "the NIC cuts large sends (sim/offload.sh)"
need python3 socat tc
net_up
SIZE=6000000
head -c $SIZE /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
large() { # pid
	"$BUILD/sluice" stat -k "$SLUICE_STATS_SHMEM_DIR" -p "$1" --json | python3 -c 'import json, sys
print(sum(l["tx_tso_pkts"] for l in json.load(sys.stdin)["lanes"]) // 16)'
}
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
# Sends a stream from b to a and runs the command in the middle of it; LARGE is how many times 16 segments
# went whole.
stream() { # what, address, command...
	local got sender what=$1 address=$2
	shift 2
	: >"$TMP/sent"
	a timeout 60 socat -u "TCP6-LISTEN:7001,ipv6only=0,reuseaddr" - </dev/null 2>/dev/null | sha256sum >"$TMP/got" &
	got=$!
	wait_tcp a 7001
	bg sb python3 "$TESTS/net/gso_send.py" "$address" 7001 "$TMP/stream" >"$TMP/sent" <"$TMP/go"
	sender=$BG
	wait_line "$TMP/sent" half 60
	"${@:-true}"
	echo >&7
	wait_line "$TMP/sent" sent 60
	LARGE=$(large "$sender")
	stop "$sender"
	wait "$got"
	same "$what: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
}
MODE=one
for address in "$A4" "$A6"; do
	stream "$address" "$address"
	ok "$address: $LARGE times 16 segments went whole" test "$LARGE" -gt 100
done
a ethtool -K "$DEV_A" gro on >/dev/null 2>&1
b ethtool -K "$DEV_B" tx off tso off gso off >/dev/null
stream "a device that does neither segment nor sum" "$A4"
ok "the kernel does it: $LARGE went whole" test "$LARGE" -gt 100
b ethtool -K "$DEV_B" tx on tso on gso on >/dev/null
SL_ENV=(SLUICE_TSO=0)
stream "not wanted" "$A6"
same "not wanted: none went whole" 0 "$LARGE"
SL_ENV=()
# (A qdisc that is there when a lane is opened is seen, and bypassed.)
stream "refused" "$A4" b tc qdisc add dev "$DEV_B" root tbf rate 8mbit burst 2000 limit 2000
ok "refused: $LARGE went whole, the rest by the ring" test "$LARGE" -lt 200
stream "a qdisc" "$A4"
ok "a qdisc: $LARGE went whole" test "$LARGE" -gt 200
b ethtool -K "$DEV_B" tso off gso off >/dev/null
stream "a qdisc, and a device that does not segment" "$A4"
same "a qdisc, and a device that does not segment: none went whole" 0 "$LARGE"
b ethtool -K "$DEV_B" tso on gso on >/dev/null
stream "a device that segments no longer" "$A4" b ethtool -K "$DEV_B" tso off gso off
ok "a device that segments no longer: $LARGE went whole" test "$LARGE" -lt 200
b ethtool -K "$DEV_B" tso on gso on >/dev/null
b tc qdisc del dev "$DEV_B" root
MODE=both
bg sa python3 -m http.server --bind "$A4" 7009 >/dev/null 2>&1 # a's device is offloaded from the beginning
wait_tcp a 7009
stream "to a device with an XDP program" "$A4"
ok "to a device with an XDP program: $LARGE went whole" test "$LARGE" -gt 100
done_testing
