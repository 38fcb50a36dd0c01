#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# redis: commands by redis-cli, and redis-benchmark with one and with many clients, with and without
# pipelining. Nothing may be answered wrongly, and nobody is disconnected.
. "$(dirname "$0")/lib_tcp.sh"
need redis-server redis-cli redis-benchmark
net_up
words() { # the same on any server
	local cli=(redis-cli -h "$1" -p 6379)
	"${cli[@]}" ping
	"${cli[@]}" set key value
	"${cli[@]}" get key
	head -c 200000 /dev/urandom | base64 -w 0 >"$TMP/big.$2"
	"${cli[@]}" -x set big <"$TMP/big.$2"
	"${cli[@]}" --raw get big | head -c -1 | cmp - "$TMP/big.$2" && echo same
	for i in $(seq 300); do echo "rpush list element$i"; done | "${cli[@]}" | tail -n 1
	"${cli[@]}" lrange list 0 -1 | md5sum
	"${cli[@]}" nonsense
	"${cli[@]}" flushall
}
export -f words
export TMP
bench() { # name options
	local name=$1 out
	shift
	out=$(said "$name")
	pa timeout 60 redis-benchmark -h "$B4" -p 6379 -t set,get --csv "$@" >"$out" 2>&1 ||
		fail "$name: status $?: $(tail -n 1 "$out")"
	same "$name: both were measured" 2 "$(grep -cE '^"(SET|GET)"' "$out")"
	say "    $name: $(grep -E '^"(SET|GET)"' "$out" | cut -d, -f1,2 | tr '\n' ' ')"
}
for MODE in $MODES; do
	serve 6379 redis-server --port 6379 --bind "$B4" "$B6" --protected-mode no --save '' --appendonly no \
		--daemonize no --dir "$TMP" || { stop "$SERVER"; continue; }
	segs_begin
	differ redis4 pa bash -c 'words "$@"' - "$B4" "$MODE"
	differ redis6 pa bash -c 'words "$@"' - "$B6" "$MODE"
	bench one -c 1 -n 1000
	bench many -c 50 -n 5000
	bench pipelined -c 20 -n 10000 -P 16
	bench large -c 5 -n 1000 -d 10000
	segs_end redis 15
	alive "$SERVER"
	same "connections that ended badly" 0 "$(grep -c 'Client closed connection\|Error' "$(said server)")"
	stop "$SERVER"
done
done_testing
