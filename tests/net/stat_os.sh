#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice stat counts what the kernel does for a socket as the kernel's: packets, bytes, calls that find nothing or no
# room, errors. And it shows dummy sends.
. "$(dirname "$0")/lib.sh"
need python3
net_up
need_built
MODE=one
SL_ENV=(SLUICE_LATENCY_STATS=1)
bg sb python3 "$TESTS/net/stat_os.py" "$B4" "$A4" "${B4%.*}.77" "$DEV_B" >"$TMP/out"
wait_line "$TMP/out" ready 8
stat() { b "$BUILD/sluice" stat -p "$BG" "$@"; }
stat --json >"$TMP/json"
while read -r port want; do
	[ "$port" != ready ] || continue
	same "counters of port $port" "$want" "$(python3 -c '
import json, sys
want = json.loads(sys.argv[2])
for k in json.load(open(sys.argv[1]))["sockets"]:
    if k["local"].endswith(":" + sys.argv[3]):
        print(json.dumps({n: k[n] for n in want}))' "$TMP/json" "$want" "$port")"
done <"$TMP/out"
stat -c 1 -v 3 >"$TMP/v3"
ok "view 3 has the errors of the kernel's side" grep -qx 'Rx OS info: 0 KB / 0 / 0 / 1 \[bytes/packets/eagains/errors\]' "$TMP/v3"
ok "and the calls that found nothing" grep -qx 'Rx OS info: 0 KB / 3 / 1 / 0 \[bytes/packets/eagains/errors\]' "$TMP/v3"
ok "and the dummy sends" grep -qx 'Tx Dummy messages : 2' "$TMP/v3"
fd_of() { awk -v at="- Local Address   = [$1]" '/^\t/ { b = "" } { b = b $0 "\n" } $0 == at { on = 1 } /^===/ && on { printf "%s", b; exit }' "$TMP/v3"; }
ok "the thread that sent" grep -qE '^- Thread Id Rx:     0, Tx: +[1-9][0-9]*$' <(fd_of "$B4:7104")
ok "the address that multicasts leave from" grep -qx -- "- udp, Blocked, MC Loop Enabled, MC IF = \[$B4\]" <(fd_of "$B4:7104")
ok "or the device" grep -qE -- '^- udp, Blocked, MC Loop Disabled, MC IF = \[device [0-9]+\]$' <(fd_of "$B4:7107")
ok "and the group" grep -qx -- '- Member of = \[224.7.7.7\]' <(fd_of "$B4:7107")
ok "view 4 has it with its descriptor" grep -qE '^\[224.7.7.7\] +[0-9]+$' <(stat -v 4)
ok "that nothing came or went" grep -qx 'Rx and Tx where not active' <(fd_of "$B4:7107")
ok "view 1 has them in a column" grep -Eq '^ +[0-9]+ Rx: +0 +0 +0 +0 +0\.0 +3 +0 +1 +0$' <(stat -c 1)
ok "view 2, too" grep -Eq '^ +Tx: +0 +0 +0 +0 +2 +0 +0 +1$' <(stat -c 1 -v 2)
ok "Prometheus has them" grep -Eq '^sluice_socket_rx_os_errors_total\{.*local="127.0.0.1:7102"\} 1$' <(stat --prometheus)
stop "$BG"
done_testing
