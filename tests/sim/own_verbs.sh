#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that has a function of a name of libibverbs': the function is not called. Where another library stands in for
# open(2), as the simulated NIC does, the program sends by AF_XDP, and the log says why.
VERBS=1
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer has a malloc() of its own"
net_up
MODE=simulated
answers() { # variable=value...
	rm -f "$TMP"/sluice.*.log
	bg sa env "$@" "$BUILD/tests/net/own_verbs" "$A4" >"$TMP/said" 2>&1
	wait_udp a 7000
	b python3 "$TESTS/net/ask_ten.py" "$A4"
	wait_end "$BG" 20
	same "it ends" 0 $?
	same "what it says" "answered ten, called 0 times" "$(cat "$TMP/said")"
}
answers
ok "the log says why it does without verbs" grep -q "functions of libibverbs' names" "$TMP"/sluice.*.log
answers "LD_PRELOAD=$PRELOAD"
ok "without a stand-in libibverbs is loaded, which has no device" grep -q "its RDMA device cannot be opened" "$TMP"/sluice.*.log
done_testing
