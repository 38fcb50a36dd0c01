#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Costs of the verbs backend for a packet beside the bare ibv_wr_* calls with the same copy of the data: instructions in
# user space, by callgrind, and system calls.
. "$(dirname "$0")/lib.sh"
sim_need
need valgrind strace
net_up
sim_up
case $(basename "$BUILD") in *asan*) skip "callgrind counts no sanitized program" ;; esac

COUNT=1600
taken() { # bare|backend, batch, size: instructions of a packet
	sim valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no "--toggle-collect=$1" \
		"$SIM_BIN/instructions" "$DEV_A" "$1" count=$COUNT batch="$2" size="$3" 2>"$TMP/callgrind" ||
		die "$1: $(tail -n 3 "$TMP/callgrind")"
	sed -n "s/.*Collected : //p" "$TMP/callgrind" | awk -v n=$COUNT '{ printf "%.1f", $1 / n }'
}
for size in 64 1000; do
	for batch in 32 1; do
		bare=$(taken bare $batch $size) lib=$(taken backend $batch $size)
		ratio=$(awk "BEGIN { printf \"%.2f\", $lib / $bare }")
		ok "$size bytes, $batch at once: $lib instructions a packet, bare $bare: $ratio times" \
			awk "BEGIN { exit !($lib <= 1.1 * $bare) }"
	done
done

# Counts the system calls of the sending thread, but for the pauses that it makes itself.
sim strace -o "$TMP/calls" -e 'trace=!clock_nanosleep' \
	"$SIM_BIN/instructions" "$DEV_A" backend count=$COUNT batch=1 2>"$TMP/err"
calls=$(wc -l <"$TMP/calls")
ok "$calls system calls for $COUNT packets, all in all" test "$calls" -gt 50 -a "$calls" -lt $((COUNT / 2))
done_testing
