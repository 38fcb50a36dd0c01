#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A client connects from ports that the server has in TIME_WAIT of another program's connections, at once and not after
# ticks: time stamps of ours have the kernel's clock. (Where that is not known, the ACK of the old connection is reset,
# and the SYN goes out again behind the reset.) And so does a client by the kernel after one of ours.
. "$(dirname "$0")/lib_tcp.sh"
need python3 awk strace
net_up
ADDR=$A4 PORT=7000 COUNT=${COUNT:-150}
a_server() {
	PORT=$((PORT + 1))
	bg "$1" python3 "$TESTS/net/tcp_reconnect.py" server "$ADDR" $PORT
	server=$BG
	wait_tcp a $PORT
	meet
}
client() { "$1" timeout 60 python3 "$TESTS/net/tcp_reconnect.py" client "$ADDR" $PORT "$COUNT" ${2:-} || echo "0 $COUNT"; }
for MODE in kernel one both; do
	for first in b pb; do
		[ -z "${server:-}" ] || stop "$server"
		a_server pa
		client $first >/dev/null
		read -r rate slow < <(client pb)
		[ "$MODE" != kernel ] || kernel=${slow:-0} kernel_rate=${rate:-1}
		ok "after $(by_mode $first): $slow of $COUNT came late, the kernel's $kernel ($rate a second, $kernel_rate)" \
			test "${slow:-$COUNT}" -le $((kernel + COUNT / 10))
	done
	read -r rate slow < <(client b)
	ok "by the kernel after $(by_mode pb): $slow of $COUNT came late ($rate a second)" \
		test "${slow:-$COUNT}" -le $((kernel + COUNT / 10))
done
# Programs of ours one after the other: numbers and time stamps rise from one to the next, so the server takes each SYN,
# and a connection has as many segments as one from a new port. (One program in two would rise by chance.)
segs() { a awk '/^Tcp: [0-9]/ { print $11 }' /proc/net/snmp; }
MODE=one
stop "$server"
a_server pa
sum=0 first=0
for run in 0 1 2 3 4; do
	was=$(segs)
	COUNT=60 client pb >/dev/null
	took=$(($(segs) - was))
	if [ $run = 0 ]; then first=$took; else sum=$((sum + took)); fi
done
ok "four more programs from the same ports: $sum segments, the first one $first" test $sum -le $((4 * first + 30))
# Over IPv6: the client binds no port, and the range has few ports.
ADDR=$A6
b sysctl -qw net.ipv4.ip_local_port_range="21000 21007"
stop "$server"
a_server pa
COUNT=40 client b 0 >/dev/null
was=$(segs)
COUNT=40 client pb 0 >/dev/null
took=$(($(segs) - was))
ok "from a few ports, after the kernel: $took segments, new ones take $first" test $((took * 60)) -le $((first * 40 + first * 4))
read -r rate slow < <(COUNT=40 client b 0)
ok "from a few ports, by the kernel after ours: $slow of 40 came late" test "${slow:-40}" -le 6
stop "$server"
# Without random offsets one answer of the kernel serves all ports of two addresses: the library does not ask for each
# connection. (Two calls of connect(2) for a question, none for a connection of ours.)
ADDR=$A4
b sysctl -qw net.ipv4.ip_local_port_range="32768 60999" net.ipv4.tcp_timestamps=2
a_server pa
COUNT=60 client b >/dev/null
rate="" slow=""
read -r rate slow < <(sb timeout 60 strace -f -e trace=connect -o "$TMP/trace" python3 "$TESTS/net/tcp_reconnect.py" client "$ADDR" $PORT 60)
asked=$(grep -c 'sin_port=htons('$PORT')' "$TMP/trace")
ok "60 connections with tcp_timestamps 2: $asked questions, $slow came late" test "$asked" -ge 1 -a "$asked" -le 4
# tcp_timestamps changes while a program runs: what it learnt before is forgotten.
was=$(segs)
COUNT=60 client b 23000 >/dev/null
first=$(($(segs) - was))
mkfifo "$TMP/go"
sb timeout 60 python3 "$TESTS/net/tcp_reconnect.py" client "$ADDR" $PORT 10 22000 60 23000 <"$TMP/go" >"$TMP/changed" &
changed=$!
exec 9>"$TMP/go"
wait_until 20 test -s "$TMP/changed"
b sysctl -qw net.ipv4.tcp_timestamps=1
COUNT=60 client b 23000 >/dev/null
sleep 1.5 # (a change is followed within a second)
was=$(segs)
exec 9>&-
wait $changed
took=$(($(segs) - was))
ok "after a change of tcp_timestamps: $took segments, new ones take $first" test $took -ge 240 -a $took -le $((first + 40))
stop "$server"
done_testing
