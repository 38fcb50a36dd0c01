#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Goodput over a wire that loses and delays packets:
# goodput.sh LOSS MODE SECONDS SEED [ALGORITHM] [DELAY]. Host b sends (preloaded in modes one and
# both), by CUBIC unless told otherwise; DELAY is that of one way, 10ms if not given. Prints a line
# with megabits a second and the segments sent again. Called by tcp.py.
. "$(dirname "$0")/../net/lib.sh"
unset SLUICE_MAX_FLOWS # (as users have it)
LOSS=$1 MODE=$2 SECS=$3 SEED=$4 CC=${5:-cubic} DELAY=${6:-10ms}
need iperf3 python3
net_up -w
wire_up --delay "$DELAY" --ba --loss "$LOSS" --seed "$SEED"
bg pb iperf3 -s -1 -p 5000 >/dev/null 2>&1
server=$BG
wait_tcp b 5000
pa iperf3 -c "$B4" -p 5000 -t "$SECS" -R -C "$CC" -J >"$TMP/out.json" || die "iperf3: $(tail -n 3 "$TMP/out.json")"
wait_end "$server" 20
python3 - "$TMP/out.json" <<'END'
import json, sys
text = open(sys.argv[1]).read()
end = json.loads(text[text.index("{"):])["end"]
print(end["sum_received"]["bits_per_second"] / 1e6, end["sum_sent"]["retransmits"])
END
