#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the benchmarks on a veth pair between two namespaces: bench.sh [--short] [--rounds N]
# [--only GROUP,...]. Results go to $BUILD/bench: bench.json, bench.txt and plots (SVG).
. "$(dirname "$0")/../net/lib.sh"
unset SLUICE_MAX_FLOWS # (as users have it)
export SLUICE_START=wait # (what is measured is offloaded from its first packet on)
need sockperf python3
[ -e "$PRELOAD" ] || say "bench: $PRELOAD is not built: floor and kernel only"
net_up
# Enough ports for 100,000 connections to one port: four more addresses, and the whole range.
for i in 11 12 13 14; do ip -n "${NS}a" addr add "$NET4.$i/24" dev "$DEV_A"; done
for h in a b; do
	$h sysctl -qw net.ipv4.ip_local_port_range="1024 65535" net.core.somaxconn=8192 \
		net.ipv4.tcp_max_syn_backlog=8192
done
SOURCES=$NET4.11
BENCH_MAC_B=$(ip -n "${NS}b" -j link show "$DEV_B" | sed 's/.*"address":"\([^"]*\)".*/\1/')
export SOURCES NS DEV_A DEV_B A4 B4 BENCH_MAC_B BUILD PRELOAD TMP
python3 "$(dirname "$0")/bench.py" "$@"
