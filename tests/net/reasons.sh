#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice stat says of each socket why it is with the kernel.
. "$(dirname "$0")/lib.sh"
need python3
net_up
need_built
MODE=one
for fam in ${FAMILIES:-4 6}; do
	own=B$fam peer=A$fam
	group=239.1.2.3
	[ "$fam" = 4 ] || group=ff05::1234
	bg sb python3 "$TESTS/net/reasons.py" "${!own}" "${!peer}" $group >"$TMP/out$fam"
	wait_line "$TMP/out$fam" ready
	b "$BUILD/sluice" stat -p "$BG" --json >"$TMP/json"
	same "reasons of family $fam" "7001 offloaded
7002 offloaded
7003 bound to a multicast group and connected
7004 the address is local or loopback" "$(python3 -c '
import json, sys
for k in sorted(json.load(open(sys.argv[1]))["sockets"], key=lambda k: k["local"][-4:]):
    print(k["local"][-4:], k["reason"])' "$TMP/json")"
	stop "$BG"
done
done_testing
