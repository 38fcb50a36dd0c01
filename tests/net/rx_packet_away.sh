#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bulk data for a program that is away from its calls wait in the kernel's queue: the keeper fetches some for the
# acknowledgments' sake, and what has not been read neither fills packet memory nor gets lost there.
. "$(dirname "$0")/lib.sh"
export SLUICE_RX_BACKEND=packet # (whatever the run's other tests use)
need python3
net_up
SIZE=12000000
head -c $SIZE /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
MODE=one
SL_ENV=(SLUICE_FRAMES=4096)
least=1000000
# (Now and then the keeper looks while the program reads, and then takes as much as that.)
for run in 1 2 3; do
	: >"$TMP/got"
	bg sb python3 "$TESTS/net/away_read.py" "$B4" 7001 1000000 0.02 4000000 >"$TMP/got"
	reader=$BG
	wait_tcp b 7001
	a timeout 60 python3 "$TESTS/net/away_send.py" "$B4" 7001 "$TMP/stream" >"$TMP/again"
	wait_line "$TMP/got" ' ' 60
	same "not a byte is lost" "${SUM%% *}" "$(awk '{ print $1 }' "$TMP/got")"
	counts=$("$BUILD/sluice" stat -k "$SLUICE_STATS_SHMEM_DIR" -p "$reader" --json | python3 -c 'import json, sys
lanes = [lane for line in sys.stdin for lane in json.loads(line)["lanes"]]
print(max(lane["keeper_max"] for lane in lanes), sum(lane["rx_pkts"] for lane in lanes))')
	read -r most packets <<<"$counts"
	ok "run $run: the bytes came by us, in $packets packets" test "$packets" -gt 200
	least=$((most < least ? most : least))
	stop "$reader"
done
# A large packet has up to 45 frames. What comes before programs have much unread (200 KB) is not limited.
ok "the keeper takes $least frames a look at most" test "$least" -le 480
done_testing
