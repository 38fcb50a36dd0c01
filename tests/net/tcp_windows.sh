#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Four peers send to a program that does not read for 0.7 s. The windows that they are told together are what packet memory
# has room for, so (nearly) nothing is lost; a new connection can begin beside them; and connections that have fallen silent
# hold no share of that memory.
. "$(dirname "$0")/lib.sh"
export SLUICE_RX_BACKEND=packet # (XDP's ring loses packets of its own accord at such a rate)
need python3
net_up
MODE=one
FRAMES=4096 SEGMENT=1448
SL_ENV=("SLUICE_FRAMES=$FRAMES")
bg sb python3 "$TESTS/net/tcp_windows.py" read "$B4" 7001 5 6000000
reader=$BG
wait_tcp b 7001
a timeout 30 python3 "$TESTS/net/tcp_windows.py" send "$B4" 7001 5 8000000 >"$TMP/told"
read -r together again < <(awk '/^together/ { print $2, $3 }' "$TMP/told")
late=$(awk '/^late/ { print $2 }' "$TMP/told")
alone=$(awk '/^alone/ { print $2 }' "$TMP/told")
dropped=$("$BUILD/sluice" stat -k "$SLUICE_STATS_SHMEM_DIR" -p "$reader" --json | python3 -c 'import json, sys
print(sum(lane["TcpExtTCPRcvQDrop"] for line in sys.stdin for lane in json.loads(line)["lanes"]))')
ok "four windows, $together bytes, are less than packet memory" [ "$together" -lt $((FRAMES * SEGMENT)) ]
ok "$dropped segments were dropped for want of room ($again sent again in all)" [ "$dropped" -lt 150 ]
ok "a fifth connection has a window, $late bytes" [ "$late" -ge 60000 ]
ok "one that sends alone has more than a quarter, $alone bytes" [ "$alone" -gt $((together * 3 / 8)) ]
stop "$reader"
done_testing
