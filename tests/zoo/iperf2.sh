#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# iperf 2: four streams at once, both ways, and datagrams.
. "$(dirname "$0")/lib.sh"
need iperf
net_up
server() { bg pb iperf -s -B "$B4" -p 5201; }
talk() {
	iperf -c "$B4" -p "$PORT" -t 1 -P 4 | grep -c 'bits/sec'
	iperf -c "$B4" -p "$PORT" -t 1 -r | grep -c 'bits/sec'
	iperf -c "$B4" -p "$PORT" -n 50M | grep -o '50.0 MBytes'
}
rate() { iperf -c "$B4" -p "$PORT" -t 2 -f m -P 4 | awk '/SUM/ { print $(NF - 1) }'; }
zoo iperf2 5201
done_testing
