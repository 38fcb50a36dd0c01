#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Goodput over a wire that loses and delays packets:
# goodput.sh LOSS MODE SECONDS SEED [ALGORITHM] [DELAY] [RATE]. Host b sends (preloaded in modes one
# and both), by CUBIC unless told otherwise (bbr3 by the library's setting, since no kernel's iperf3 may name it); DELAY is that of one way, 10ms if not given; RATE (50mbit)
# makes the wire a bottleneck with a queue of 100 packets. Prints a line with megabits a second and the
# segments sent again. In mode share two connections share the bottleneck, one of a preloaded program
# and one by the kernel, which begins first or second by the seed's lowest bit: prints their megabits
# a second. There each packet has up to a fifth of DELAY more, as on a real path: else it is a matter of
# phase alone which connection finds the queue full, and 0.7 of the rate is not that of an algorithm.
# Called by tcp.py.
. "$(dirname "$0")/../net/lib.sh"
unset SLUICE_MAX_FLOWS # (as users have it)
LOSS=$1 MODE=$2 SECS=$3 SEED=$4 CC=${5:-cubic} DELAY=${6:-10ms} RATE=${7:-}
need iperf3 python3
jitter_of() { # 10ms or 500us
	local n=${1%[mu]s}
	[ "$1" = "${1%ms}" ] || n=$((n * 1000))
	printf '%dus' $((n / 5))
}
choice=(-C "$CC")
[ "$CC" != bbr3 ] || choice=() SL_ENV+=(SLUICE_TCP_CC_ALGO=bbr3)
net_up -w
jitter=0us
[ "$MODE" != share ] || jitter=$(jitter_of "$DELAY")
wire_up --delay "$DELAY" --jitter "$jitter" --ba --loss "$LOSS" --seed "$SEED" ${RATE:+--rate "$RATE" --limit 100}
serve() { # host port
	bg "$1" iperf3 -s -1 -p "$2" >/dev/null 2>&1
	wait_tcp b "$2"
}
ask() { # port seconds how-many-to-leave-out
	pa iperf3 -c "$B4" -p "$1" -t "$2" -O "$3" -R "${choice[@]}" -J >"$TMP/out.$1"
}
if [ "$MODE" = share ]; then
	MODE=one
	serve pb 5000
	serve b 5001
	first=$((5000 + (SEED & 1)))
	# The second comes when the first has all of it, and then each has the time to find its part.
	ask $first "$SECS" 6 &
	waited=$!
	sleep 1
	ask $((10001 - first)) "$SECS" 5 || die "iperf3: $(tail -n 3 "$TMP"/out.*)"
	wait "$waited" || die "iperf3: $(tail -n 3 "$TMP"/out.*)"
else
	serve pb 5000
	ask 5000 "$SECS" 0 || die "iperf3: $(tail -n 3 "$TMP/out.5000")"
fi
python3 - "$TMP"/out.* <<'END'
import json, sys
def read(name):
    with open(name) as f:
        text = f.read()
    return json.loads(text[text.index("{"):])["end"]
ends = [read(name) for name in sys.argv[1:]]
mbit = [end["sum_received"]["bits_per_second"] / 1e6 for end in ends]
print(mbit[0], mbit[1] if len(ends) > 1 else ends[0]["sum_sent"]["retransmits"])
END
