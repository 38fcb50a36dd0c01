#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Settings of single calls do as documented: the drain rate of receive calls, the dummy send of getsockname(2), and
# prefetching, which must not change what arrives.
RX=${RX:-xdp}
. "$(dirname "$0")/lib.sh"
settings_up

run() { # what, settings...: OUT is the program's output
	local what=$1
	shift
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "$@")
	OUT=$(sb python3 "$TESTS/net/settings_calls.py" "$what" "$B4" "$A4" 7000 "$BUILD/sluice")
}

# Turns of the lane while 40 datagrams are read that one turn has received.
run drain SLUICE_PROGRESS_ENGINE_INTERVAL=0 SLUICE_CQ_POLL_BATCH_MAX=64
ok "a call with data queued makes no turn ($OUT turns)" test "${OUT:-99}" -le 10
run drain SLUICE_PROGRESS_ENGINE_INTERVAL=0 SLUICE_CQ_POLL_BATCH_MAX=64 SLUICE_RX_CQ_DRAIN_RATE_NSEC=1
ok "RX_CQ_DRAIN_RATE_NSEC=1: nearly each call makes one ($OUT turns)" test "${OUT:-0}" -ge 35
run drain SLUICE_PROGRESS_ENGINE_INTERVAL=0 SLUICE_CQ_POLL_BATCH_MAX=64 SLUICE_RX_CQ_DRAIN_RATE_NSEC=1000000000
ok "at most one in a second ($OUT turns)" test "${OUT:-99}" -le 12

run name
same "getsockname sends nothing and warms nothing" "0 dummies, 1 sent" "$OUT"
run name SLUICE_TRIGGER_DUMMY_SEND_GETSOCKNAME=1
same "TRIGGER_DUMMY_SEND_GETSOCKNAME: five calls of a connected socket warm, none of one without a peer" \
	"5 dummies, 1 sent" "$OUT"

for s in SLUICE_RX_PREFETCH_BYTES={0,256,65536} SLUICE_RX_PREFETCH_BYTES_BEFORE_POLL={64,65536}; do
	run whole "$s"
	same "$s: all that was sent arrives" "200 of 200" "$OUT"
done
run poll SLUICE_RX_POLL=100000000
same "polling is not counted" nothing "$OUT"
run poll SLUICE_RX_POLL=100000000 SLUICE_CPU_USAGE_STATS=1
ok "CPU_USAGE_STATS=1: it is ($OUT)" grep -qE '^counted Polling CPU:[0-9]+%$' <<<"$OUT"

run arm SLUICE_PROGRESS_ENGINE_INTERVAL=0
ok "without a tick the internal thread takes no packets ($OUT turns)" test "${OUT:-99}" -le 2
run arm SLUICE_PROGRESS_ENGINE_INTERVAL=0 SLUICE_INTERNAL_THREAD_ARM_CQ=1
ok "INTERNAL_THREAD_ARM_CQ=1: it does, as they come ($OUT turns)" test "${OUT:-0}" -ge 8

run cores SLUICE_RING=core
same "RING=core leaves threads where they are" "2 and 2, all: 2" "$OUT"
run cores SLUICE_RING=core_attach
same "RING=core_attach: a core for each" "1 and 1, all: 2" "$OUT"
done_testing
