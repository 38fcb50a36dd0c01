#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sockperf --tcp: ping-pong, waiting and spinning, and throughput, with Nagle and without.
. "$(dirname "$0")/lib_tcp.sh"
need sockperf
net_up
PORT=5001 # the same for all, without SO_REUSEADDR
run() { # name server-options -- client-options
	local name=$1 srv=() out r
	shift
	while [ "$1" != -- ]; do srv+=("$1"); shift; done
	shift
	out=$(said "$name")
	serve "$PORT" sockperf server --tcp -i "$B4" -p "$PORT" "${srv[@]}" || { stop "$SERVER"; return; }
	local in_a in_b
	in_a=$(tcp_segs a) in_b=$(tcp_segs b)
	pa timeout 60 sockperf "$@" --tcp -i "$B4" -p "$PORT" -t 1 >"$out" 2>&1
	ok "$name: the client ends well" test $? = 0
	in_a=$(($(tcp_segs a) - in_a)) in_b=$(($(tcp_segs b) - in_b))
	alive "$SERVER"
	r=$(sed -n 's/.*\[Total Run\].*ReceivedMessages=\([0-9]*\).*/\1/p;s/.*Total of \([0-9]*\) messages sent.*/\1/p' "$out" | tail -n 1)
	say "    $name: ${r:-?} messages $(sed -n 's/.*Summary: \(Latency is .*\)/\1/p;s/.*Summary: \(Message Rate is .*\)/\1/p' "$out")"
	ok "$name: messages" test "${r:-0}" -gt 100
	[ "$1" = tp ] || same "$name: none lost, doubled, misplaced" "0 0 0" \
		"$(sed -n 's/.*# dropped messages = \([0-9]*\); # duplicated messages = \([0-9]*\); # out-of-order messages = \([0-9]*\).*/\1 \2 \3/p' "$out")"
	# (A segment has at most ten messages; the kernel sees the start of the connection.)
	server_is_ours && ok "$name: b's kernel saw $in_b segments" test $((in_b * 10)) -le "${r:-0}"
	client_is_ours && ok "$name: a's kernel saw $in_a segments" test $((in_a * 10)) -le "${r:-0}"
	stop "$SERVER"
}
for MODE in $MODES; do
	run pp -- pp
	run ppspin --nonblocked -- pp --nonblocked
	run tp -- tp -m 100
	run tpnodelay -- tp -m 100 --tcp-avoid-nodelay
done
done_testing
