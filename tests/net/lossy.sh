#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# UDP over a wire that loses, doubles, reorders and damages: what arrives is what the wire passed,
# and nothing damaged is ever delivered.
. "$(dirname "$0")/lib.sh"
net_up -w
SINK=$BUILD/tests/bench/udpsink BLAST=$BUILD/tests/bench/udpblast
COUNT=5000
SL_ENV=(SLUICE_RX_WRE=8192) # (a ring for all of them: the test is not about a late receiver)
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }
settled() {
	kill -USR1 "$WIRE"
	sleep 0.05
	[ "$(wire_stat ab in)" -ge $COUNT ] &&
		[ $(($(wire_stat ab out) + $(wire_stat ab lost) - $(wire_stat ab dup))) -ge "$(wire_stat ab in)" ]
}
through() { # options of the wire
	wire_up "$@"
	bg pb "$SINK" "$ADDR" 5000 seconds=20 >"$TMP/sink" 2>"$TMP/sink.err"
	local sink=$BG
	wait_line "$TMP/sink.err" ready
	offload_begin
	pa taskset -c 0 "$BLAST" "$ADDR" 5000 count=$COUNT rate=8000 >/dev/null
	wait_until 10 settled || fail "the wire does not settle"
	[ "$MODE" != kernel ] && ok "not by the kernel" test $(($(udp_stat b InDatagrams) - K_IN)) -le 500
	sleep 0.1
	stop "$sink"
	wire_down
	read -r GOT _ MIS _ <"$TMP/sink"
}
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		ADDR=B$fam
		ADDR=${!ADDR}
		through --seed 3
		same "$ADDR: all, in order" "$COUNT 0" "$GOT $MIS"
		through --loss 3% --dup 2% --reorder 4%/5 --seed 3
		same "$ADDR: what was not lost, and the doubles" \
			$((COUNT - $(wire_stat ab lost) + $(wire_stat ab dup))) "$GOT"
		through --corrupt 5% --seed 4
		bad=$(wire_stat ab corrupt)
		# A bit of the hop limit or the traffic class is no damage to the datagram in IPv6.
		ok "$ADDR: damaged ones do not arrive ($bad damaged, $((COUNT - GOT)) missing)" \
			between $((COUNT - GOT)) $((bad * 90 / 100)) "$bad"
	done
	# Questions and answers, the contents compared.
	rm -f "$TMP/steady"
	wire_up --loss 1% --corrupt 5% --dup 2% --reorder 3%/3 --seed 9
	bg pb "$BIN/echo" "$B4" 7000
	server=$BG
	wait_udp b 7000
	bg pa "$BIN/steady" -i 500 -s 700 "$B4" 7000 "$TMP/steady"
	client=$BG
	wait_until 20 eval '[ "$(cut -d" " -f1 "$TMP/steady")" -ge 4000 ]' || fail "no traffic"
	stop "$client" "$server"
	wire_down
	read -r sent got doubled wrong _ <"$TMP/steady"
	same "nothing wrong was delivered" 0 "$wrong"
	ok "most came back ($got of $sent)" test "$got" -ge $((sent * 80 / 100))
	ok "doubles as they came ($doubled)" between "$doubled" $((sent / 50)) $((sent / 12))
done
done_testing
