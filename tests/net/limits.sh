#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs with narrow limits: of files' sizes, whose signal would end them, and of descriptors.
. "$(dirname "$0")/lib.sh"
net_up
need python3
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
wait_udp a 7000

subject() { # limits of the shell, WHAT [LIMIT]
	local limits=$1 what=$2
	shift 2
	pb bash -c "ulimit $limits && exec python3 $TESTS/net/limits.py $what $A4 7000 $*"
}

for MODE in $MODES; do
	# File sizes: the library's memory does not count as files, and its log lines end no program.
	SL_ENV=("SLUICE_STATS_FILE=$TMP/report.%d")
	for kb in 0 100 20000; do
		offload_begin
		same "files of $kb KB at most" "answers 20" "$(subject "-f $kb" echo)"
		offload_end 20
	done
	SL_ENV=()

	# Descriptors: a program that may have few of them has them all.
	rm -f "$TMP"/sluice.*.log
	for most in 16 64; do
		SL_ENV=(SLUICE_LOG_FILE=) # (a log file would take a descriptor)
		differ "descriptors.$most" subject "-c 0" many $most
	done
	SL_ENV=()
	[ "$MODE" = kernel ] && continue
	subject "-c 0" many 64 >/dev/null 2>&1
	ok "it is said once, with the remedy" logged 'kernel: EMFILE.*remedy: a hard limit'
	same "once" 1 "$(cat "$TMP"/sluice.*.log | grep -c EMFILE)"
done

if [ -x "$BUILD/sluiced" ] && kernel_is 5.14; then
	MODE=leased
	daemon_up b
	LEASED=1
	offload_begin
	same "files of 100 KB at most" "answers 20" "$(MODE=one subject "-f 100" echo)"
	offload_end 20
fi
done_testing
