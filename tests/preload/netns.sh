#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A socket stays with its network namespace, wherever the thread is, and no device of another one is touched.
. "$(dirname "$0")/lib.sh"
need python3 "$PBIN/peer"
net_up
bg a "$PBIN/peer" "$A4" 7000
wait_tcp a 7000
for MODE in kernel one; do
	differ netns pb timeout 60 python3 "$TESTS/preload/netns.py" "$A4" 7000 "$DEV_B"
done
ok "it was offloaded at home" grep -qh 'offloaded: driver' "$TMP"/sluice.*.log
done_testing
