#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A redis cluster of three nodes: it forms, redirects, and answers pipelined requests.
. "$(dirname "$0")/lib.sh"
need redis-server redis-cli redis-benchmark
net_up
server() {
	local n
	rm -rf "$TMP"/node*
	for n in 1 2 3; do
		mkdir "$TMP/node$n"
		chmod 777 "$TMP/node$n"
	done
	nodes() {
		local n
		trap 'kill $(jobs -p); wait; exit 0' TERM
		for n in 1 2 3; do
			redis-server --bind "$B4" --port "700$n" --cluster-enabled yes --cluster-node-timeout 5000 --save '' \
				--protected-mode no --dir "$TMP/node$n" --daemonize no >"$TMP/node$n/log" &
		done
		wait
	}
	export -f nodes
	bg pb bash -c nodes
}
talk() {
	local i
	for i in 1 2 3; do
		for _ in $(seq 100); do redis-cli -h "$B4" -p "700$i" ping >/dev/null 2>&1 && break; sleep 0.1; done
	done
	timeout 60 redis-cli --cluster create "$B4:7001" "$B4:7002" "$B4:7003" --cluster-yes | grep -c '^\[OK\]'
	for _ in $(seq 100); do redis-cli -h "$B4" -p 7003 cluster info | grep -q 'state:ok' && break; sleep 0.1; done
	for i in $(seq 30); do redis-cli -c -h "$B4" -p 7001 set "key$i" "value $i"; done | sort | uniq -c
	for i in $(seq 30); do redis-cli -c -h "$B4" -p 7002 get "key$i"; done
	timeout 60 redis-benchmark -h "$B4" -p 7001 --cluster -P 16 -c 20 -n 20000 -t set,get -q | grep -c 'requests per second'
	redis-cli -h "$B4" -p 7001 cluster info | grep -E 'state|slots_ok|known_nodes'
}
zoo redis_cluster 7001
done_testing
