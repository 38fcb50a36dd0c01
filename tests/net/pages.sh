#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each command line of the tools in README.md and the manual pages is right usage: it is run as it is written, but for
# names of devices, addresses and files, while a program is offloaded. What it then finds nothing to do for, it says.
. "$(dirname "$0")/lib.sh"
need python3 timeout tshark iperf3 sockperf bpftool
unsanitized "sluice run preloads no sanitizer"
net_up
mount | grep -q 'on /sys/fs/bpf type bpf' || skip "no bpffs"
MODE=tools
mkdir "$TMP/bin"
for n in sluice vma_stats mlnx_qos tc_wrap; do ln -s "$BUILD/sluice" "$TMP/bin/$n"; done
for n in feed keys; do printf '#!/bin/sh\nexec true\n' >"$TMP/$n" && chmod +x "$TMP/$n"; done
export PATH=$TMP/bin:$PATH SLUICE_STATS_SHMEM_DIR=$TMP SLUICE_TRACELEVEL=2

bg a "$BUILD/sluice" run -- python3 -c '
import signal, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 5001))
print("bound", flush=True)
signal.pause()' "$A4" >"$TMP/out"
wait_line "$TMP/out" bound
PROGRAM=$("$BUILD/sluice" stat --list | grep -oE '[0-9]+' | head -n 1)

try() { # number, command: for a second at most
	(cd "$TMP" && a timeout -s INT 1 bash -o pipefail -c "$2" </dev/null >"$TMP/said.$1" 2>&1)
	echo $? >"$TMP/status.$1"
}
right() { # number: the command was right usage, and a failure has its reason
	local said=$TMP/said.$1
	case $(cat "$TMP/status.$1") in
	0 | 124 | 130) true ;;
	1) [ -s "$said" ] && not grep -qiE '^usage|no option|no setting|unrecognized|invalid option' "$said" ;;
	*) false ;;
	esac || { sed 's/^/# /' "$said" | head -n 5; false; }
}
wrong() { # command
	try wrong "$1"
	not right wrong >/dev/null
}
here() { # a command, with names that this test has
	sed -E "s/\b(eth0|ens1f0|ens2f1)\b/$DEV_A/g; s/\b4711\b/$PROGRAM/; s/\b10\.0\.0\.1\b/$A4/; s,/tmp/|/var/lib/node_exporter/,$TMP/,"
}
pages=() commands=()
while IFS=$'\t' read -r page command; do
	pages+=("$page") commands+=("$command")
done < <(cd "$TOP" && python3 tests/net/pages.py)
ok "the pages have commands" test ${#pages[@]} -ge 35
tried=()
for n in "${!pages[@]}"; do
	try "$n" "$(here <<<"${commands[n]}")" &
	tried+=($!)
done
wait "${tried[@]}"
for n in "${!pages[@]}"; do
	ok "${pages[n]}: ${commands[n]}" right "$n"
done
for w in "sluice stat -v 9" "sluice fly" "sluice run RX_POL=1 true" nothing-of-that-name; do
	ok "wrong usage is found: $w" wrong "$w"
done
done_testing
