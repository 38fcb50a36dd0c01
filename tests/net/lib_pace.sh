# SPDX-License-Identifier: BSD-2-Clause
# Paced flows of UDP or TCP from a (preloaded) to b, measured by an independent receiver on b.
#
#   paced PERMILLE FRAMES SIZE KBPS[,KBPS..] [WORD..]    each flow whole, in order, at its rate
#   changed FRAMES SIZE "KBPS WORDS"                     whole and in order only
#
# No flow may be faster than its rate, in any run. Flows that are slower get further tries. The test does not
# judge them if other programs used the processors meanwhile, or if the machine hardly carries the rate: if
# flows of ten times the rate reach less than one and a half of it. A sanitizer slows the sender, and the NIC's
# schedule makes up for no delay: with one a flow may be 20 permille slower still.
#
# shellcheck shell=bash
. "$TESTS/net/lib_others.sh"
PORT=7100
PACE_TRIES=${SHORT:+2}
PACE_TRIES=${PACE_TRIES:-5}
SLOWER=0
case $BUILD in *asan* | *tsan*) SLOWER=20 ;; esac

# Runs the flows once; the report is in $TMP/paced.
flows() { # frames, size, rates, words...
	local receiver
	rm -f "$TMP"/sluice.*.log # of the run before: a failed test shows all logs
	STREAM=
	[[ " $* " != *" tcp "* ]] || STREAM=1
	b "$BIN/pace_receive" "$DEV_B" "$PORT" "$1" "$3" ${STREAM:+"$2"} >"$TMP/paced" &
	receiver=$!
	wait_line "$TMP/paced" listening
	others_begin
	bg sa "$BIN/pace_send" "$B4" "$PORT" "$@" >"$TMP/sent"
	wait_end "$BG" 60 || fail "the sender: $(cat "$TMP/sent")"
	wait "$receiver"
	others_end
	sed -i /listening/d "$TMP/paced"
}
# (TCP sends dropped segments again, so more frames may come than were sent, and out of order.)
is_whole() { # frames
	awk -v n="$1" -v tcp="$STREAM" '$3 < n || !tcp && ($3 > n || $4) { bad = 1 } END { exit bad || !NR }' "$TMP/paced"
}
# Prints by how much the worst flow is off its rate, in thousandths. sign 1: too fast; -1: too slow.
worst() { # sign
	awk -v s="$1" '{ d = s * ($5 - $2) * 1000 / $2; if (d > w || NR == 1) w = d } END { printf "%.1f", w }' "$TMP/paced"
}
not_over() { # permille, sign
	awk -v w="$(worst "$2")" -v p="$1" 'BEGIN { exit !(w <= p) }'
}
show_gaps() {
	awk '{ if ($7 > p99) p99 = $7 } END { printf "  (%s) %d flows, the last %s kbit/s: %s, p99 gap error %.0f us\n",
		mode, NR, $2, $5, p99 }' mode="$MODE" "$TMP/paced"
}
# Sets CARRIED to the rate at which the machine carries frames of this kind; true: enough to judge a flow.
is_carried() { # frames, size, rates, words...
	CARRIED=more
	[[ $3 != *,* ]] || return 0
	flows "$1" "$2" "${3}0" "${@:4}"
	CARRIED=$(awk '{ print int($5) }' "$TMP/paced")
	[ $((CARRIED * 2)) -ge $(($3 * 3)) ]
}
paced() { # permille, frames, size, rates, words...
	local permille=$1 what="${4%%,*} ${*:5}" try slow # (names the first of many rates)
	local least=$((permille + SLOWER))
	shift
	for ((try = 1; ; try++)); do
		flows "$@"
		is_whole "$1" && not_over "$permille" 1 || break
		not_over "$least" -1 || [ $try = $PACE_TRIES ] && break
	done
	slow=$(worst -1)
	ok "$what: whole and in order" is_whole "$1"
	ok "$what: none is faster ($(worst 1) permille)" not_over "$permille" 1
	show_gaps
	if not_over "$least" -1; then
		pass "$what: none is slower ($slow permille), try $try"
	elif disturbed; then
		say "  not judged: slower by $slow permille, while others used $OTHERS_MS of $TOOK_MS ms"
	elif ! is_carried "$@"; then
		say "  not judged: slower by $slow permille; $CARRIED kbit/s is all that is carried here"
	else
		fail "$what: slower by $slow permille, in $try tries; carried is $CARRIED kbit/s"
	fi
}
changed() {
	# shellcheck disable=SC2086
	flows "$1" "$2" $3
	ok "$3: whole and in order" is_whole "$1"
}
