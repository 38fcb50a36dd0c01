#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Settings of lanes and of waiting do as documented: which sockets share a lane, how often the kernel is asked, whether
# polls give the processor away, what the internal thread takes in one go, segments handled as one.
RX=xdp # (segments that come one by one; the rest does not depend on it)
. "$(dirname "$0")/lib.sh"
settings_up perf
bg a python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], 7001))
while True: s.accept()[0].sendall(bytes(1 << 20))' "$A4"
wait_tcp a 7001

run() { # what, settings...: OUT is the program's output
	local what=$1
	shift
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "$@")
	OUT=$(sb "${TRACE[@]}" python3 "$TESTS/net/settings_waits.py" "$what" "$B4" "$A4" 7000 "$BUILD/sluice")
}
TRACE=()

# Two threads with two sockets each.
lanes() { # expected lanes, settings...
	local n=$1
	shift
	run lanes "$@"
	same "$*" "4 sockets, $n lanes" "$OUT"
}
lanes 1 SLUICE_RING_ALLOCATION_LOGIC_RX=interface
lanes 4 SLUICE_RING_ALLOCATION_LOGIC_RX=socket
lanes 2 SLUICE_RING_ALLOCATION_LOGIC_RX=thread
lanes 1 SLUICE_RING_ALLOCATION_LOGIC_TX=socket
lanes 4 SLUICE_RING=socket
lanes 3 SLUICE_RING=socket SLUICE_RING_LIMIT_PER_INTERFACE=3
lanes 2 VMA_SPEC=multi_ring_latency
lanes 4 VMA_SPEC=multi_ring_latency SLUICE_RING=socket
run lanes SLUICE_OFFLOADED_SOCKETS=0
same "OFFLOADED_SOCKETS=0" "0 sockets, 0 lanes" "$OUT"

# Two threads, each on a core of its own; then both on one.
if [ "$(nproc)" -ge 2 ]; then
	for s in SLUICE_RING_ALLOCATION_LOGIC_RX=30 SLUICE_RING_ALLOCATION_LOGIC_RX=31 VMA_SPEC=623; do
		run on_cores $s
		same "$s: a lane for each core" "2 lanes, then 1 more socket on 1 of them" "$OUT"
	done
	run on_cores SLUICE_RING_ALLOCATION_LOGIC_RX=0
	same "RING_ALLOCATION_LOGIC_RX=0: one for both" "1 lanes, then 1 more socket on 1 of them" "$OUT"
fi

frames() { # expected frames, settings...
	local n=$1
	shift
	run frames "$@"
	same "$*" "$n" "$OUT"
}
frames 2048 SLUICE_FRAMES=2048
frames 4096 SLUICE_TX_BUFS=1000 SLUICE_RX_BUFS=2000
frames 32768 VMA_RX_BUFS=20000
frames 2048 SLUICE_FRAMES=2048 SLUICE_RX_BUFS=20000

# (A pipe is left out of looks once it was quiet for a while.)
run skip SLUICE_SELECT_SKIP_OS=0 SLUICE_SELECT_POLL_OS_RATIO=10
same "SELECT_SKIP_OS=0: each call tells of the kernel's pipe" 1 "$OUT"
run skip SLUICE_SELECT_SKIP_OS=7 SLUICE_SELECT_POLL_OS_RATIO=10
same "SELECT_SKIP_OS=7: one call in eight" 8 "$OUT"

run burst SLUICE_CQ_POLL_BATCH_MAX=1
ok "the internal thread takes many packets in one go ($OUT)" test "${OUT:-0}" -ge 10
run burst SLUICE_CQ_POLL_BATCH_MAX=1 SLUICE_PROGRESS_ENGINE_WCE_MAX=2
same "PROGRESS_ENGINE_WCE_MAX=2" 2 "$OUT"

run stream
ok "segments in a row are handled as one ($OUT)" test "${OUT:-0}" -ge 10
run stream SLUICE_GRO_STREAMS_MAX=0
same "GRO_STREAMS_MAX=0: none" 0 "$OUT"

# System calls of waits, which last 150 ms in all.
perf stat -e syscalls:sys_enter_ppoll -- true 2>/dev/null || skip "perf cannot count system calls here"
calls() { # system calls, what, settings...: N is how many the program makes
	TRACE=(perf stat -x " " -o "$TMP/count" -e "syscalls:sys_enter_$1")
	shift
	run "$@"
	N=$(awk '$1 + 0 == $1 { print $1 }' "$TMP/count")
}
few() { ok "$1 ($N calls)" test "$N" -le 200; }
many() { ok "$1 ($N calls)" test "$N" -ge 400; }
calls sched_yield poll SLUICE_SELECT_POLL=-1
few "select calls do not yield"
calls sched_yield poll SLUICE_SELECT_POLL=-1 SLUICE_SELECT_POLL_YIELD=1
many "SELECT_POLL_YIELD"
calls sched_yield recv SLUICE_RX_POLL=-1
few "receive calls do not yield"
calls sched_yield recv SLUICE_RX_POLL=-1 SLUICE_RX_POLL_YIELD=1
many "RX_POLL_YIELD"
if [ "$(nproc)" -ge 2 ]; then # (two threads are at the lane at once)
	for _ in 1 2 3; do # (the threads meet by chance)
		calls sched_yield contend
		spun=$N
		calls sched_yield contend SLUICE_THREAD_MODE=3
		[ "$N" -le "$spun" ] || break
	done
	ok "THREAD_MODE=3: a thread that waits for a lane yields ($N calls, else $spun)" test "$N" -gt "$spun"
fi
calls ppoll poll SLUICE_SELECT_POLL=-1 SLUICE_SELECT_POLL_OS_RATIO=1000000000
few "SELECT_POLL_OS_RATIO: the kernel is hardly asked"
calls ppoll poll SLUICE_SELECT_POLL=-1 SLUICE_SELECT_POLL_OS_RATIO=1
many "SELECT_POLL_OS_RATIO=1: it is, in each poll"
calls ppoll poll SLUICE_SELECT_POLL=-1 SLUICE_SELECT_POLL_OS_RATIO=1000000000 SLUICE_SELECT_POLL_OS_FORCE=1
many "SELECT_POLL_OS_FORCE: also with another ratio"
calls ppoll poll VMA_SPEC=latency
many "SPEC=latency: calls poll without an end, and ask the kernel in each poll"
calls ppoll poll VMA_SPEC=554
few "SPEC=554: they sleep at once"
calls recvmsg recv SLUICE_RX_POLL=-1 SLUICE_RX_UDP_POLL_OS_RATIO=0
few "RX_UDP_POLL_OS_RATIO=0: the kernel is hardly asked"
calls recvmsg recv SLUICE_RX_POLL=-1 SLUICE_RX_UDP_POLL_OS_RATIO=1
many "RX_UDP_POLL_OS_RATIO=1: it is, in each poll"
done_testing
