#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the benchmarks on a veth pair between two namespaces: bench.sh [--short] [--rounds N]
# [--only GROUP,...]. Results go to $BUILD/bench: bench.json, bench.txt and plots (SVG).
. "$(dirname "$0")/../net/lib.sh"
need sockperf python3
[ -e "$PRELOAD" ] || say "bench: $PRELOAD is not built: floor and kernel only"
net_up
BENCH_MAC_B=$(ip -n "${NS}b" -j link show "$DEV_B" | sed 's/.*"address":"\([^"]*\)".*/\1/')
export NS DEV_A DEV_B A4 B4 BENCH_MAC_B BUILD PRELOAD TMP
python3 "$(dirname "$0")/bench.py" "$@"
