#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A client connects from ports that the server has in TIME_WAIT of another program's connections, at once and not after
# ticks: the ACK of the old connection is reset, and the SYN goes out again behind the reset.
. "$(dirname "$0")/lib_tcp.sh"
need python3 awk
net_up
PORT=7000 COUNT=${COUNT:-150}
a_server() {
	PORT=$((PORT + 1))
	bg "$1" python3 "$TESTS/net/tcp_reconnect.py" server "$A4" $PORT
	server=$BG
	wait_tcp a $PORT
	meet
}
client() { "$1" timeout 60 python3 "$TESTS/net/tcp_reconnect.py" client "$A4" $PORT "$COUNT" || echo "0 $COUNT"; }
for MODE in kernel one both; do
	for first in b pb; do
		a_server pa
		client $first >/dev/null
		read -r rate slow < <(client pb)
		stop "$server"
		[ "$MODE" != kernel ] || kernel=${slow:-0} kernel_rate=${rate:-1}
		ok "after $(by_mode $first): $slow of $COUNT came late, the kernel's $kernel ($rate a second, $kernel_rate)" \
			test "${slow:-$COUNT}" -le $((kernel + COUNT / 10))
	done
done
# Programs of ours one after the other: numbers and time stamps rise from one to the next, so the server takes each SYN,
# and a connection has as many segments as one from a new port. (One program in two would rise by chance.)
segs() { a awk '/^Tcp: [0-9]/ { print $11 }' /proc/net/snmp; }
MODE=one
a_server pa
sum=0 first=0
for run in 0 1 2 3 4; do
	was=$(segs)
	COUNT=60 client pb >/dev/null
	took=$(($(segs) - was))
	if [ $run = 0 ]; then first=$took; else sum=$((sum + took)); fi
done
stop "$server"
ok "four more programs from the same ports: $sum segments, the first one $first" test $sum -le $((4 * first + 30))
done_testing
