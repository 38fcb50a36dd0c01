#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sockperf: ping-pong, under-load and throughput; every way of waiting, several sockets, multicast
# (this sockperf knows IPv4 only). No mode may lose, double or reorder where the kernel does not.
. "$(dirname "$0")/lib.sh"
need sockperf python3
net_up

# What sockperf says of the run: duplicated, dropped, reordered.
faults() { sed -n 's/.*# dropped messages = \([0-9]*\); # duplicated messages = \([0-9]*\); # out-of-order messages = \([0-9]*\).*/\1 \2 \3/p' "$1"; }
received() { sed -n 's/.*\[Total Run\].*ReceivedMessages=\([0-9]*\).*/\1/p' "$1"; }
feed() { # file: addresses one a line
	printf 'U:%s\n' "$@"
}

# name, most dropped messages in 1000, server options -- client options
round() {
	local name=$1 rate=$2 srv=() out sent
	shift 2
	while [ "$1" != -- ]; do srv+=("$1"); shift; done
	shift
	out=$(said "$name")
	offload_begin
	bg pb sockperf server "${srv[@]}" >"$out.server" 2>&1
	wait_line "$out.server" "Warmup stage"
	pa timeout 60 sockperf "$@" >"$out" 2>&1
	ok "$name: the client ends well" test $? = 0
	alive "$BG"
	local f r
	f=$(faults "$out")
	r=$(received "$out")
	say "    $name: received ${r:-?} dropped/duplicated/reordered ${f:-?}"
	[ -n "$f" ] || { fail "$name says nothing"; tail -n 12 "$out" "$out.server" | sed 's/^/    | /'; stop "$BG"; return; }
	set -- $f
	ok "$name: messages came" test "${r:-0}" -gt 20
	ok "$name: dropped $1 of $r" test $(($1 * 1000)) -le $((rate * (r + $1)))
	same "$name: duplicated and reordered" "0 0" "$2 $3"
	# Beyond the MTU the kernel puts the pieces together.
	[ "$name" = pp4000 ] || offload_end "$r" "$r"
	stop "$BG"
}

# One way: what the server counted of what was sent.
throughput() { # name, most lost in 1000, client options
	local name=$1 rate=$2 out sent got
	shift 2
	out=$(said "$name")
	offload_begin
	bg pb sockperf server -i "$B4" -p 5001 -g >"$out.server" 2>&1
	wait_line "$out.server" "Warmup stage"
	pa timeout 60 sockperf tp -i "$B4" -p 5001 "$@" >"$out" 2>&1
	ok "$name: the client ends well" test $? = 0
	sleep 0.2
	kill -INT "$BG"
	wait_end "$BG" 10
	sent=$(sed -n 's/.*Total of \([0-9]*\) messages sent.*/\1/p' "$out")
	got=$(sed -n 's/.*Total \([0-9]*\) messages received.*/\1/p' "$out.server")
	say "    $name: sent ${sent:-?} received ${got:-?}"
	[ -n "$sent" ] && [ -n "$got" ] || { fail "$name says nothing"; tail -n 12 "$out" "$out.server" | sed 's/^/    | /'; return; }
	ok "$name: lost of $sent" test $(((sent - got) * 1000)) -le $((rate * sent))
	offload_end "$got"
}

for MODE in $MODES; do
	round pp 0 -i "$B4" -p 5001 -- pp -i "$B4" -p 5001 -t 1
	round pp1400 0 -i "$B4" -p 5001 -- pp -i "$B4" -p 5001 -t 1 -m 1400
	round pp4000 0 -i "$B4" -p 5001 -- pp -i "$B4" -p 5001 -t 1 -m 4000
	round ppspin 0 -i "$B4" -p 5001 --nonblocked -- pp -i "$B4" -p 5001 -t 1 --nonblocked
	# What is answered after the end counts as dropped; a busy machine has such.
	round ul 30 -i "$B4" -p 5001 -- ul -i "$B4" -p 5001 -t 1 --mps 2000 --reply-every 5
	round bursts 30 -i "$B4" -p 5001 -- ul -i "$B4" -p 5001 -t 1 --mps 2000 --reply-every 2 -b 10
	throughput tp 5 -t 1 --mps 10000 -m 64
	throughput tpmax 1000 -t 1 -m 64
	for how in select poll epoll recvfrom recvfrommux; do
		feed "$B4:5001" >"$TMP/feed1"
		feed "$B4:5001" "$B4:5002" "$B4:5003" "$B4:5004" >"$TMP/feed4"
		f=feed4
		[ $how = recvfrom ] && f=feed1
		round "$how" 0 -f "$TMP/$f" -F $how -- pp -f "$TMP/$f" -F $how -t 1
	done
	round threads 0 -f "$TMP/feed4" -F epoll --threads-num 2 -- pp -f "$TMP/feed4" -F epoll -t 1
	printf 'U:%s\n' 239.1.2.3:5011 239.1.2.4:5012 >"$TMP/mc"
	round mcpp 0 -f "$TMP/mc" -F epoll --mc-rx-if "$B4" --mc-tx-if "$B4" -- \
		pp -f "$TMP/mc" -F epoll --mc-rx-if "$A4" --mc-tx-if "$A4" -t 1
done
done_testing
