#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sockperf: ping-pong, under-load and throughput. No mode may lose, double or reorder where the
# kernel does not. (This sockperf knows IPv4 only.)
. "$(dirname "$0")/lib_sockperf.sh"
net_up

for MODE in $MODES; do
	round pp 0 -i "$B4" -p 5001 -- pp -i "$B4" -p 5001
	[ -n "${SHORT:-}" ] || round pp4000 0 -i "$B4" -p 5001 -- pp -i "$B4" -p 5001 -m 4000
	round ppspin 0 -i "$B4" -p 5001 --nonblocked -- pp -i "$B4" -p 5001 --nonblocked
	# (sockperf counts answers that come after the end as dropped; on a busy machine there are some.)
	round ul 30 -i "$B4" -p 5001 -- ul -i "$B4" -p 5001 --mps 2000 --reply-every 5
	[ -n "${SHORT:-}" ] || round bursts 30 -i "$B4" -p 5001 -- ul -i "$B4" -p 5001 --mps 2000 --reply-every 2 -b 10
	[ -n "${SHORT:-}" ] || throughput tp 5 --mps 5000 -m 64
	throughput tpmax 1000 -m 64
done
done_testing
