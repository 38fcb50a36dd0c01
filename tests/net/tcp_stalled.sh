#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A process of a listener stops looking after its part: the connections that wait there are given to the others, also
# those in the middle of the handshake.
LEASED=1
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv tc
net_up
a tc qdisc add dev "$DEV_A" clsact || skip "no clsact"
hold_back() { a tc filter add dev "$DEV_A" egress bpf da obj "$BIN/hold.bpf.o" sec tc; }
let() { wait_until 60 test -e "$TMP/let" && a tc filter del dev "$DEV_A" egress; }
PORT=7400
stalls() { # FAMILY WHO
	local own=B$1
	PORT=$((PORT + 1))
	rm -f "$TMP/let"
	bg pb python3 "$TESTS/net/tcp_stalled.py" server "${!own}" $PORT $2 >"$TMP/joined"
	wait_tcp b $PORT
	wait_line "$TMP/joined" joined 20
	hold_back || skip "no cls_bpf"
	let &
	segs_begin
	a timeout 100 python3 "$TESTS/net/tcp_stalled.py" client "${!own}" $PORT "$TMP" >"$TMP/answered"
	wait $!
	same "IPv$1, $2: who waited there" "early 40" "$(sed -n 1p "$TMP/answered")"
	same "IPv$1, $2: whose handshake ended then" "late 24" "$(sed -n 2p "$TMP/answered")"
	segs_end "IPv$1, $2" 75
	stop "$BG"
}
peer_is_kernels
for MODE in $MODES; do
	meet
	for who in ${KINDS:-children epoll poll}; do
		stalls 4 $who
	done
	stalls 6 epoll
done
done_testing
