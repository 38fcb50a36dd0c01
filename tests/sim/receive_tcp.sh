#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_RX_BACKEND=verbs on the simulated NIC: TCP, listening and connecting, both families, by programs as they are,
# not a byte wrong; a NIC that fails while bytes flow; and no rule stays when the connections have ended.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
need socat
SIM=$TMP/nic.a
SL_ENV=(SLUICE_RX_BACKEND=verbs)

fresh() { rm -f "$TMP"/sluice.*.log "$SIM"/control.* "$TMP/got"; }
figure() { nic_control a stat | sed -n "s/^$1 //p"; }
tcp_segs() { "$BUILD/tests/net/counters" Tcp InSegs+OutSegs "/run/netns/$NS$1"; }
programs() { a bpftool net show dev "$DEV_A" 2>/dev/null | grep -c 'simulated_nic'; }

head -c 1500000 /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
# An echo server on host a gives everything back; the kernel of host b is the client.
for addr in "$A4" "$A6"; do
	case $addr in *:*) v=6 at="[$addr]" ;; *) v=4 at=$addr ;; esac
	# More than 4,096 bytes (PIPE_BUF) at once may block on a pipe that poll(2) calls writable.
	bg sa socat -b 4096 "TCP$v-LISTEN:7001,bind=$at,reuseaddr" PIPE
	SERVER=$BG
	wait_tcp a 7001
	SEGMENTS=$(tcp_segs a)
	b timeout 60 socat -t 30 - "TCP$v:$at:7001" <"$TMP/stream" | sha256sum >"$TMP/got"
	same "$addr: the server gives back what it got" "$SUM" "$(cat "$TMP/got")"
	ok "$addr: the kernel saw next to nothing" test $(($(tcp_segs a) - SEGMENTS)) -lt 400
	ok "$addr: by verbs" logged 'receives on .* by verbs (simulated0'
	wait_end "$SERVER" 20
	fresh
done
same "no rule is left" 0 "$(programs)"

# The client is on host a: a rule for its flow.
bg b socat -u "OPEN:$TMP/stream" TCP-LISTEN:7002,reuseaddr
wait_tcp b 7002
sa timeout 60 socat -u "TCP4:$B4:7002" - | sha256sum >"$TMP/got"
same "a client gets all" "$SUM" "$(cat "$TMP/got")"
ok "a client: by verbs" logged 'receives on .* by verbs (simulated0'
same "a client: no rule is left" 0 "$(programs)"
fresh

# A connection is handed to a child, which the kernel serves: not a byte is wrong.
bg sa socat "TCP4-LISTEN:7003,bind=$A4,reuseaddr,fork" EXEC:cat
SERVER=$BG
wait_tcp a 7003
b timeout 60 socat -t 30 - "TCP4:$A4:7003" <"$TMP/stream" | sha256sum >"$TMP/got"
same "a child's connection: the server gives back what it got" "$SUM" "$(cat "$TMP/got")"
stop "$SERVER"
fresh

# The device dies in the middle: the connection goes on by the kernel.
b bash -c "socat -u TCP-LISTEN:7004,reuseaddr - | sha256sum" >"$TMP/got" &
GOT=$!
wait_tcp b 7004
bg sa python3 "$TESTS/sim/slow_send.py" "$B4" 7004 "$TMP/stream"
SENDER=$BG
wait_until 30 test -e "$TMP/stream.half" || die "nothing is sent"
nic_control a fatal >/dev/null
rm "$TMP/stream.half"
ok "a dead device: the sender ends" wait_end "$SENDER" 60
wait "$GOT"
same "a dead device: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
ok "a dead device: the log says so" logged 'the receive queue of its NIC has failed'
done_testing
