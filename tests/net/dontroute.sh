#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_DONTROUTE and MSG_DONTROUTE: no host behind a gateway is reached.
. "$(dirname "$0")/lib.sh"
need python3 "$BUILD/tests/preload/peer"
net_up
FAR=10.77.77.1
ip -n "${NS}a" addr add $FAR/32 dev lo
ip -n "${NS}b" route add 10.77.77.0/24 via "$A4"
bg a "$BUILD/tests/preload/peer" 0.0.0.0 7000
wait_tcp a 7000
for MODE in kernel one; do
	differ dontroute pb timeout 100 python3 "$(dirname "$0")/dontroute.py" "$A4" $FAR 7000
done
done_testing
