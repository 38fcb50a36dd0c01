#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that limit their addresses (RLIMIT_AS), or lock all their memory, work: the library's tables have no more
# addresses than memory.
. "$(dirname "$0")/lib.sh"
case $BUILD in *san*) skip "a sanitizer's own addresses are terabytes" ;; esac
unset SLUICE_MAX_FLOWS
need socat
net_up
bg a socat TCP-LISTEN:7000,fork,reuseaddr EXEC:cat
wait_tcp a 7000
SL_ENV+=("SLUICE_LOG_FILE=$TMP/log")
for MODE in kernel one; do # (the peer is not preloaded)
	for what in child limited ${LOCK-lock}; do
		differ $what pb timeout 60 python3 "$TESTS/net/address_space.py" $what "$A4"
		if [ "$MODE" = one ]; then
			ok "$what: offloaded ($(cat "$TMP/differ.err"))" grep -q "offloaded" "$TMP/log"
			rm -f "$TMP/log"
		fi
	done
done
done_testing
