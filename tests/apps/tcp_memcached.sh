#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# memcached: its text protocol by a generator of our own that looks at every answer, few and many
# connections, with and without pipelining, values of several sizes.
. "$(dirname "$0")/lib_tcp.sh"
LOAD=$BUILD/tests/apps/mcload
need memcached "$LOAD"
net_up
load() { # name; connections, depth, seconds, bytes
	local out
	out=$(said "$1")
	pa timeout 30 "$LOAD" "$B4" 11211 "${@:2}" >"$out" 2>&1 || fail "$1: $(tail -n 1 "$out")"
	ok "$1: answered" grep -qE '^[0-9]+ [0-9]+ [0-9]+$' "$out"
	say "    $1: $(awk '{ print $1 " a second, p50 " $2 " us, p99 " $3 " us" }' "$out")"
}
for MODE in $MODES; do
	for threads in 1 4; do
		serve 11211 memcached -u root -U 0 -p 11211 -l "$B4" -t $threads || continue
		segs_begin
		load one$threads 1 1 0.5
		load many$threads 50 1 0.5
		load pipelined$threads 8 16 0.5
		load large$threads 4 1 0.5 100000
		# (The machine sends as much as it can in that time, so the number differs from mode to mode.)
		[ "$MODE" = kernel ] || ok "$threads: b's kernel saw $(($(tcp_segs b) - SEGS_B)) segments" \
			eval '! server_is_ours ||' test $((($(tcp_segs b) - SEGS_B) * 20)) -le "${ALONE:-0}"
		[ "$MODE" != kernel ] || ALONE=$(($(tcp_segs b) - SEGS_B))
		alive "$SERVER"
		stop "$SERVER"
	done
done
done_testing
