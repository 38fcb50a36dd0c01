#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The verbs backend on the simulated NIC: preloaded programs send by it, and when it fails they go on by AF_XDP without
# a lost byte of TCP. tests/net/*.sh with VERBS=1 test the rest.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
SIM=$TMP/nic.a
BIN=$BUILD/tests/net

# Removes logs and reports before the next part; prints them first if a test has failed since the last time.
fresh() {
	[ "$FAILED" = "${EXPLAINED:-0}" ] || {
		show_logs
		cat "$TMP"/nic.a/report.*
		b cat /proc/net/snmp
		b ip neigh
		a ip neigh
	}
	EXPLAINED=$FAILED
	rm -f "$TMP"/sluice.*.log "$TMP"/nic.a/report.* "$TMP/answers" "$TMP/got"
}

# UDP: every datagram answered, and the NIC sent them all.
bg b "$BIN/echo" "$B4" 7000
ECHO=$BG
wait_udp b 7000
sa "$BIN/steady" -n 500 "$B4" 7000 "$TMP/answers"
say "  sent, answered, doubled, wrong, failed, gap: $(cat "$TMP/answers")"
same "all are answered, once" "500 500 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
ok "by verbs" logged 'by verbs (simulated0'
ok "$(counted frames) frames by the NIC" test "$(counted frames)" -ge 490
ok "requests are written directly" logged 'written directly)'
same "doorbells as the record says" 0 "$(counted bells_wrong)"
fresh

# Sends a stream of random bytes; something happens in the midst of it.
head -c 8000000 /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
stream() { # command to the NIC in the middle of the stream; "": none
	b bash -c "socat -u TCP-LISTEN:7001,reuseaddr - | sha256sum" >"$TMP/got" &
	local got=$!
	wait_tcp b 7001
	bg sa python3 "$TESTS/sim/slow_send.py" "$B4" 7001 "$TMP/stream"
	local sender=$BG
	wait_until 30 test -e "$TMP/stream.half" || die "nothing is sent"
	[ -z "$1" ] || nic_control a "$1" >"$TMP/control"
	[ -z "$1" ] || same "$1: the NIC obeys" ok "$(cat "$TMP/control")"
	rm "$TMP/stream.half"
	ok "${1:-nothing}: the sender ends" wait_end "$sender" 60
	wait "$got"
	same "${1:-nothing}: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
}
stream ""
ok "by verbs" logged 'by verbs (simulated0'
ok "nothing failed" not logged 'from now on'
fresh
for fault in fatal unplug "stall 1" "fail 3 4" "fail 1 21"; do
	stream "$fault"
	ok "$fault: goes on by AF_XDP" logged 'by AF_XDP from now on'
	[ -d "$SIM/unplugged" ] && mv "$SIM/unplugged" "$SIM/sys/class/infiniband_verbs/uverbs0"
	fresh
done

# A NIC that was plugged in again is used again, while the stream goes on.
b bash -c "socat -u TCP-LISTEN:7001,reuseaddr - | sha256sum" >"$TMP/got" &
GOT=$!
wait_tcp b 7001
bg sa python3 "$TESTS/sim/slow_send.py" "$B4" 7001 "$TMP/stream" 4000
SENDER=$BG
wait_until 30 logged 'by verbs (simulated0' || fail "not by verbs"
nic_control a unplug >/dev/null
ok "unplugged: AF_XDP" wait_until 20 logged 'by AF_XDP from now on'
nic_control a replug >/dev/null
ok "plugged in again: verbs" wait_until 20 by_verbs_again 1
nic_control a "fail 1 4" >/dev/null
ok "after an error, too" wait_until 20 by_verbs_again 2
rm -f "$TMP/stream.slow"
ok "there and back: the sender ends" wait_end "$SENDER" 60
wait "$GOT"
same "there and back: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
fresh

# An error completion loses no datagram: what was not sent is sent by AF_XDP.
bg sa "$BIN/steady" -n 1500 "$B4" 7000 "$TMP/answers"
STEADY=$BG
wait_until 30 logged 'by verbs' || fail "not by verbs"
nic_control a "fail 100 4" >/dev/null
ok "it ends" wait_end "$STEADY" 60
same "all are answered, once, over an error" "1500 1500 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
ok "it was over an error" logged 'from now on: local protection error'
fresh

# Without the right to raw packets, without the library, or when not wanted: AF_XDP, and the log says why.
by_xdp() { # what, log
	sa "$BIN/steady" -n 100 "$B4" 7000 "$TMP/answers"
	same "$1: all are answered" "100 100 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	[ -z "$2" ] || ok "$1: the log says so" logged "$2"
	ok "$1: not by verbs" not logged 'by verbs'
	fresh
}
SIM_OPTIONS=deny_raw=1
by_xdp "no right" 'by AF_XDP: no right to send raw packets'
SIM_OPTIONS=
mkdir "$TMP/lib"
: >"$TMP/lib/libibverbs.so.1"
SL_ENV=("LD_LIBRARY_PATH=$TMP/lib")
by_xdp "no library" 'by AF_XDP: libibverbs is not installed'
SL_ENV=(SLUICE_TX_BACKEND=xsk)
by_xdp "not wanted" ''
SL_ENV=(SLUICE_TX_REQUESTS=direct MLX5_QP_SIGNATURE=1)
by_xdp "not as wanted" 'by AF_XDP: libmlx5 makes them otherwise'
# libibverbs makes the requests: by the setting, or because libmlx5 makes other requests than we would.
for how in SLUICE_TX_REQUESTS=ibv MLX5_QP_SIGNATURE=1; do
	SL_ENV=("$how")
	sa "$BIN/steady" -n 100 "$B4" 7000 "$TMP/answers"
	same "$how: all are answered" "100 100 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	ok "$how: by verbs" logged 'by verbs (simulated0'
	ok "$how: not directly" not logged 'written directly'
	fresh
done
SL_ENV=()
stop "$ECHO"
done_testing
