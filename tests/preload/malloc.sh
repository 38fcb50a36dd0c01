#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls that are async-signal-safe never use the program's malloc(), and handlers may use sockets whatever they
# interrupt.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer has a malloc() of its own"
need "$PBIN/malloc" "$PBIN/peer" "$BUILD/tests/net/tcp_peer"
net_up
bg a "$PBIN/peer" "$A4" 7000
bg a "$PBIN/peer" "$A6" 7000
bg a "$BUILD/tests/net/tcp_peer" "$A4" 7100
bg a "$BUILD/tests/net/tcp_peer" "$A6" 7100
wait_until 10 two_peers || die "the peers do not start"
wait_tcp a 7100
for MODE in kernel one; do
	for c in first_in_handler safe_calls storm; do
		! over 4 || differ "$c-v4" pb timeout 60 "$PBIN/malloc" "$A4" 7000 "$B4" $c
		! over 6 || differ "$c-v6" pb timeout 60 "$PBIN/malloc" "$A6" 7000 "$B6" $c
	done
done
done_testing
