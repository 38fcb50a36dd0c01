#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that begins under a seccomp filter goes on, whatever call of the library the filter forbids.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer makes such calls itself"
need "$PBIN/filtered" "$PBIN/peer"
net_up
bg a "$PBIN/peer" "$A4" 7000
wait_udp a 7000
for MODE in kernel one; do
	differ filtered pb timeout 60 "$PBIN/filtered" "$A4" 7000 "$B4"
done
done_testing
