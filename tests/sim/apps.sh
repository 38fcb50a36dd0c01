#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Unmodified programs on both hosts send by verbs on simulated NICs, with the same result as by AF_XDP (tests/apps):
# sockperf over UDP and TCP, redis, iperf3. The NICs' counters show that they sent by verbs; the kernels saw next to
# nothing. (Times on the simulated wire say nothing.)
VERBS=1 MODES=both
. "$(dirname "$0")/../apps/lib_sockperf.sh"
. "$TESTS/apps/lib_tcp.sh"
need redis-server redis-cli redis-benchmark iperf3
net_up
MODE=both
fresh() { rm -f "$TMP"/nic.[ab]/report.*; }
frames() { # host: prints how many frames the ended programs have sent (sockperf's server is killed, and reports none)
	cat "$TMP/nic.$1"/report.* 2>/dev/null | awk '$1 == "frames" { n += $2 } END { print n + 0 }'
}
by_verbs() { # what, most segments or datagrams by each kernel, at least by a's NIC, and by b's
	local least=("$3" "$4") i=0
	local host seen n
	for host in a b; do
		seen=$(($(tcp_segs $host) + $(udp_stat $host InDatagrams) - $(eval "echo \$BEFORE_$host")))
		n=$(frames $host)
		ok "$1: $n frames by $host's NIC" test "$n" -ge "${least[i++]}"
		ok "$1: $seen by $host's kernel" test "$seen" -le "$2"
	done
	fresh
	begin
}
begin() { for h in a b; do eval "BEFORE_$h=$(($(tcp_segs $h) + $(udp_stat $h InDatagrams)))"; done; }

begin
T=1 round udp 0 -i "$B4" -p 5001 -- pp -i "$B4" -p 5001
by_verbs "sockperf UDP" 60 20 0
for nagle in "" --tcp-avoid-nodelay; do
	serve 5002 sockperf server --tcp -i "$B4" -p 5002
	pa timeout 60 sockperf pp --tcp $nagle -i "$B4" -p 5002 -t 1 >"$TMP/pp" 2>&1
	same "sockperf TCP $nagle: nothing lost, doubled, misplaced" "0 0 0" "$(faults "$TMP/pp")"
	stop "$SERVER"
	by_verbs "sockperf TCP $nagle" 60 20 0
done

serve 6379 redis-server --port 6379 --bind "$B4" --protected-mode no --save '' --appendonly no --daemonize no --dir "$TMP"
head -c 15000000 /dev/urandom | base64 -w 0 >"$TMP/big"
pa redis-cli -h "$B4" -x set big <"$TMP/big" >"$TMP/set"
same "redis takes a large value" OK "$(cat "$TMP/set")"
pa redis-cli -h "$B4" --raw get big | head -c -1 >"$TMP/back"
ok "and gives it back" cmp "$TMP/back" "$TMP/big"
pa timeout 60 redis-benchmark -h "$B4" -p 6379 -t set,get --csv -c 20 -n 3000 -P 16 >"$TMP/bench" 2>&1
same "redis-benchmark: both are measured" 2 "$(grep -cE '^"(SET|GET)"' "$TMP/bench")"
same "connections that ended badly" 0 "$(grep -c 'Client closed connection\|Error' "$(said server)")"
stop "$SERVER"
by_verbs redis 150 100 100

for way in "" -R; do
	bg pb iperf3 -s -1 -p 5201 >"$TMP/server" 2>&1
	wait_tcp b 5201
	pa timeout 60 iperf3 -c "$B4" -p 5201 -n 20M -J $way >"$TMP/iperf" 2>"$TMP/iperf.err"
	ok "iperf3 $way: the client ends well" test $? = 0
	ok "iperf3 $way: the server, too" wait_end "$BG" 20
	# (The end of the test overtakes what waits in the server's buffer, which iperf3 does not count: with the kernel's
	# TCP 3 to 20 % of 20 MB beside three busy loops. That all bytes come is said by redis, above.)
	ok "iperf3 $way: bytes came" /usr/bin/python3 -c '
import json, sys
sys.exit(json.load(open(sys.argv[1]))["end"]["sum_received"]["bytes"] < 1000000)' "$TMP/iperf"
	by_verbs "iperf3 $way" 200 100 100
done
done_testing
