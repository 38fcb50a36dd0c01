# SPDX-License-Identifier: BSD-2-Clause
# For the scripts about sockperf: runs a server and a client, and checks their results.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need sockperf python3
T=${SOCKPERF_SECONDS:-1} # how long a run lasts (-t T; longer if the machine was too busy for it)

# Prints the dropped, duplicated and out-of-order messages that sockperf reports for a run.
faults() { sed -n 's/.*# dropped messages = \([0-9]*\); # duplicated messages = \([0-9]*\); # out-of-order messages = \([0-9]*\).*/\1 \2 \3/p' "$1"; }
received() { sed -n 's/.*\[Total Run\].*ReceivedMessages=\([0-9]*\).*/\1/p' "$1"; }
feed() { # file: addresses one a line
	printf 'U:%s\n' "$@"
}

# Prints how many datagrams found a full receive buffer: their receiver had no core for tens of milliseconds.
# On a busy machine that happens with the kernel's sockets as well as with ours, so such a loss is excused.
full() { echo $(($(udp_stat a RcvbufErrors) + $(udp_stat b RcvbufErrors))); }
excused() { # count of full before, PID of the server
	local n=$(($(full) - $1)) ours
	if server_is_ours; then
		ours=$(stat_sum "$2" rx_drops)
		n=$((n + ${ours:-0}))
	fi
	echo $n
}

# True: the run was too short to judge. Nothing came, or nothing after sockperf's warm-up (the first 0.4 s,
# in which the device comes up), or many answers came after the end.
too_short() { # file, rate, count of full before, PID of the server
	local r f
	r=$(received "$1")
	f=$(faults "$1")
	[ "${r:-0}" -gt 20 ] && [ -n "$f" ] || return 0
	[ "$2" != 0 ] && [ $(((${f%% *} - $(excused "$3" "$4")) * 1000)) -gt $(($2 * (r + ${f%% *}))) ]
}

# Runs a server and a client once and checks the client's report.
round() { # name, most dropped messages in 1000, server options -- client options
	local name=$1 rate=$2 srv=() out full excused rc f r
	shift 2
	while [ "$1" != -- ]; do srv+=("$1"); shift; done
	shift
	out=$(said "$name")
	full=$(full)
	offload_begin
	bg pb sockperf server "${srv[@]}" >"$out.server" 2>&1
	wait_line "$out.server" "Warmup stage"
	pa timeout 60 sockperf "$@" -t "$T" >"$out" 2>&1
	rc=$?
	if too_short "$out" "$rate" "$full" "$BG"; then
		full=$(full)
		pa timeout 60 sockperf "$@" -t $((T + 5)) >"$out" 2>&1
		rc=$?
	fi
	ok "$name: the client ends well" test $rc = 0
	alive "$BG"
	f=$(faults "$out")
	r=$(received "$out")
	say "    $name: received ${r:-?} dropped/duplicated/reordered ${f:-?}"
	[ -n "$f" ] || { fail "$name says nothing"; tail -n 12 "$out" "$out.server" | sed 's/^/    | /'; stop "$BG"; return; }
	set -- $f
	ok "$name: messages came" test "${r:-0}" -gt 20
	excused=$(excused "$full" "$BG")
	ok "$name: dropped $1 of $r, $excused of them by full buffers" \
		test $((($1 - excused) * 1000)) -le $((rate * (r + $1)))
	same "$name: duplicated and reordered" "0 0" "$2 $3"
	# (Messages beyond the MTU come in fragments, through the kernel.)
	[ "$name" = pp4000 ] || offload_end "$r" "$r"
	stop "$BG"
}

# Compares the messages that the server counted with those sent, in a single direction.
throughput() { # name, most lost in 1000, client options
	local name=$1 rate=$2 out sent got full excused
	shift 2
	out=$(said "$name")
	full=$(full)
	offload_begin
	bg pb sockperf server -i "$B4" -p 5001 -g >"$out.server" 2>&1
	wait_line "$out.server" "Warmup stage"
	pa timeout 60 sockperf tp -i "$B4" -p 5001 -t "$T" "$@" >"$out" 2>&1
	ok "$name: the client ends well" test $? = 0
	sleep 0.2
	excused=$(excused "$full" "$BG")
	kill -INT "$BG"
	wait_end "$BG" 10
	sent=$(sed -n 's/.*Total of \([0-9]*\) messages sent.*/\1/p' "$out")
	got=$(sed -n 's/.*Total \([0-9]*\) messages received.*/\1/p' "$out.server")
	say "    $name: sent ${sent:-?} received ${got:-?}"
	[ -n "$sent" ] && [ -n "$got" ] || { fail "$name says nothing"; tail -n 12 "$out" "$out.server" | sed 's/^/    | /'; return; }
	ok "$name: lost $((sent - got)) of $sent, $excused of them by full buffers" \
		test $(((sent - got - excused) * 1000)) -le $((rate * sent))
	offload_end "$got"
}
