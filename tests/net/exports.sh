#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The tools print well formed text for machines, also for a program with a thousand sockets, the most that have counters,
# and with a name of bytes that JSON and Prometheus must escape: each command with --json, the text for Prometheus by a strict
# reader. Each socket is in each list.
. "$(dirname "$0")/lib.sh"
need python3 timeout
unsanitized "sluice run preloads no sanitizer"
net_up
MODE=tools
export SLUICE_STATS_SHMEM_DIR=$TMP SLUICE_TRACELEVEL=2
PROGRAM=$TMP/$'a"b\\c\nd\xff\x01'
cp "$(realpath "$(command -v python3)")" "$PROGRAM"

bg a python3 "$TESTS/net/reflector.py" "$A4" 7000
wait_udp a 7000
bg b env PYTHONHOME="$(python3 -c "import sys; print(sys.base_prefix)")" "$BUILD/sluice" run STATS_FD_NUM=1024 LATENCY_STATS=1 CPU_USAGE_STATS=1 -- "$PROGRAM" \
	"$TESTS/net/exports_many.py" "$B4" "$A4" 7000 >"$TMP/out"
wait_line "$TMP/out" ready

json() { # command, expression over j, which it prints
	b "$BUILD/sluice" $1 2>"$TMP/err" | python3 -c 'import json, sys
j = json.loads(sys.stdin.buffer.read().decode("utf-8", "strict"), parse_constant=lambda c: sys.exit("no JSON: " + c))
print(eval(sys.argv[1]))' "$2"
}
same "stat: sockets that had their answer" "1000" "$(json "stat --json" 'sum(k["rx_pkts"] == 1 for k in j["sockets"])')"
same "stat, per second" "1002" "$(json "stat --json -d 2 -c 1 -i 1" 'len(j["sockets"])')"
same "flow" "1002" "$(json "flow --json" 'len(j)')"
same "flow, the kernel's, too" "1002" "$(json "flow list --all --json" 'len(j)')"
same "pace" "1" "$(json "pace --json" 'len(j)')"
same "doctor" "True" "$(json "doctor --json" 'len(j["lines"]) > 5 and j["findings"] >= 0')"

b "$BUILD/sluice" stat --prometheus >"$TMP/prometheus"
# (The reader takes 40 us for a line, and there are 90,000 lines.)
b "$BUILD/sluice" stat --prometheus --sockets=0-9,1000-2000 >"$TMP/some"
reads() { python3 "$TESTS/net/exports_prometheus.py" | tee "$TMP/said"; return "${PIPESTATUS[0]}"; }
ok "Prometheus can read it" reads <"$TMP/some"
finds() { # edit of sed: the reader finds the fault that it makes
	! sed "$1" "$TMP/some" | reads >/dev/null
}
for bad in 's/_pkts_total{/_packets_total{/' 's/\\"/"/' 's/le="+Inf"/le="9"/' '/^sluice_socket_rx_pkts/p' 's/ counter$/ gauge/'; do
	ok "the reader finds a fault: $bad" finds "$bad"
done
same "each socket has its sample" 1002 "$(grep -c '^sluice_socket_rx_pkts_total{' "$TMP/prometheus")"
same "and its histogram" 1000 "$(grep -c '^sluice_socket_rx_wait_seconds_count{.* 1$' "$TMP/prometheus")"

lines() { b timeout 20 "$BUILD/sluice" "$@" 2>/dev/null | grep -acE "\b$B4:[0-9]+\b"; } # that have an address of host b
same "top" 1001 "$(lines top -b -n 1 -d 0.1)"
same "view 5" 1001 "$(lines stat -v 5)"
same "ss" 1001 "$(lines ss --sluice -an)"
same "view 1 has two lines of each" 1002 "$(b "$BUILD/sluice" stat -c 1 | grep -cE '^ +[0-9]+ Rx:')"
ok "no control character of the name is printed" not grep -qP '[\x01-\x08]' \
	< <(for c in "stat --list" "stat -c 1" "stat -v 5" "top -b -n 1 -d 0.1" "flow" "ss -anp" "pace"; do b "$BUILD/sluice" $c; done)
done_testing
