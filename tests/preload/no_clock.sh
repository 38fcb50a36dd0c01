#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that forbids itself to read the time stamp counter (PR_SET_TSC) is not killed.
. "$(dirname "$0")/../net/lib_tcp.sh"
P=$BUILD/tests/preload
need "$P/no_clock" "$P/peer"
[ "$(uname -m)" = x86_64 ] || skip "the time stamp counter is x86's"
unsanitized "a sanitizer reads the clock itself"
net_up
bg a "$P/peer" "$A4" 7000
wait_tcp a 7000
meet
for MODE in kernel one; do
	for when in confined_later confined_first; do
		differ "$when" pb timeout 20 "$P/no_clock" "$A4" 7000 "$B4" "$when"
	done
done
done_testing
