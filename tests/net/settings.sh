#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Settings do as documented: rings, XDP mode, zero-copy, buffers, batches, polling, the internal thread; so do the
# library's counters of port, lane and rules meanwhile.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib.sh"
settings_up
COMMON=("SLUICE_STATS_SHMEM_DIR=$TMP")

# Runs settings.py with settings; OUT is its output.
run() { # what, settings...
	local what=$1
	shift
	SL_ENV=("${COMMON[@]}" "$@")
	rm -f "$TMP"/sluice.*.log
	OUT=$(sb python3 "$TESTS/net/settings.py" "$what" "$B4" "$A4" 7000)
}
# Runs settings.py in the background; returns when its socket is offloaded and has been used. PROGRAM is its pid.
start() { # what, settings...
	local what=$1
	shift
	SL_ENV=("${COMMON[@]}" "$@")
	rm -f "$TMP"/sluice.*.log "$TMP/out"
	bg sb python3 "$TESTS/net/settings.py" "$what" "$B4" "$A4" 7000 >"$TMP/out"
	PROGRAM=$BG
	[ "$what" != wait ] || wait_line "$TMP/out" ready
}
stat() { # prints an expression over s, the object of `sluice stat --json`, and total(a counter of the lanes)
	b "$BUILD/sluice" stat --json 2>/dev/null | python3 -c 'import json, sys
s = json.load(sys.stdin)
total = lambda name: sum(l[name] for l in s["lanes"])
print(eval(sys.argv[1]))' "$1"
}
export SLUICE_STATS_SHMEM_DIR=$TMP

# Rings -----------------------------------------------------------------------------------------
# Prints the bytes of the rings that the program has mapped: an entry of the lane's rings has 16, of the queue's 8, and
# each ring has a page for the indices.
rings() { # pid
	python3 -c 'import sys
ends = [[int(x, 16) for x in l.split()[0].split("-")] for l in open(sys.argv[1]) if "socket:[" in l]
print(*sorted(b - a for a, b in ends))' "/proc/$1/maps"
}
start wait SLUICE_RX_WRE=1000 SLUICE_TX_WRE=512 SLUICE_LATENCY_STATS=1
same "RX_WRE, rounded up, and twice that to fill; TX_WRE, and twice that completed" \
	"12288 12288 20480 20480" "$(rings "$PROGRAM")"
ok "native by default" grep -q 'prog/xdp' <(b ip -d link show "$DEV_B")
same "LATENCY_STATS: each read's wait is in a place, and their sum; each send, too" "True True True True" "$(stat '" ".join(str(x) for k in s["sockets"]
	if k["rx_poll_hit"] + k["rx_poll_miss"] for x in (sum(w["count"] for w in k["rx_wait"]) == k["rx_pkts"], k["rx_wait_ns"] > 0,
	sum(w["count"] for w in k["tx_call"]) == k["tx_pkts"] > 0, k["tx_call_ns"] > 0))')"
ok "Prometheus has it as a histogram" eval 'b "$BUILD/sluice" stat --prometheus >"$TMP/prom"
	grep -q "^# TYPE sluice_socket_rx_wait_seconds histogram$" "$TMP/prom" &&
	[ "$(grep -c "^sluice_socket_rx_wait_seconds_bucket{.*le=\"" "$TMP/prom")" = 24 ] &&
	grep -Eq "^sluice_socket_rx_wait_seconds_bucket\{.*,le=\"\+Inf\"\} 2$" "$TMP/prom" &&
	grep -Eq "^sluice_socket_rx_wait_seconds_count\{.*\} 2$" "$TMP/prom"'
ok "view 3 has them in words" test "$(b "$BUILD/sluice" stat -c 1 -v 3 |
	grep -Ec '^(Rx wait|Tx call): 50% (<|>=) [0-9.]+ [mu]s / 99% .* / 100% ')" = 2
ok "and the thread that read and sent" eval 'b "$BUILD/sluice" stat -c 1 -v 3 | grep -qE -- "^- Thread Id Rx: +$PROGRAM, Tx: +$PROGRAM$"'
same "the port is alive" True "$(stat 's["ports"][0]["attached"]')"
ok "turns are counted" test "$(stat 'total("turns")')" -ge 1
ok "idle ones are some of them" test "$(stat 'total("turns") >= total("idle_turns")')" = True
stop "$PROGRAM"

# Tables ----------------------------------------------------------------------------------------
tables() { # names: prints how many entries the kernel's tables of that name have
	local name
	for name; do bpftool -j map show pinned "/sys/fs/bpf/sluice/$DEV_B/$name"; done |
		python3 -c 'import re, sys; print(*re.findall(r"max_entries.:(\d+)", sys.stdin.read()))'
}
start wait SLUICE_MAX_FLOWS=2000 SLUICE_BUSY_POLL=1 SLUICE_BUSY_POLL_BUDGET=16
ok "BUSY_POLL: an AF_XDP socket asks the driver" eval '! logged "busy polling" && python3 -c "
import ctypes, os, socket, sys
pid, call, seen = int(sys.argv[1]), ctypes.CDLL(None).syscall, []
held = os.pidfd_open(pid)
for fd in os.listdir(f\"/proc/{pid}/fd\"):
    if os.readlink(f\"/proc/{pid}/fd/{fd}\").startswith(\"socket:\"):
        s = socket.socket(44, 3, 0, call(438, held, int(fd), 0))
        if s.getsockopt(1, 39) == 44:
            seen.append([s.getsockopt(1, 69), s.getsockopt(1, 46)])
assert [1, 20] in seen, seen" "$PROGRAM"'
same "MAX_FLOWS: flows, endpoints" "2000 2000" "$(tables flows endpoints)"
ok "no table of picked flows, since no port is shared" test -e "/sys/fs/bpf/sluice/$DEV_B/picked" -a \
	! -e "/sys/fs/bpf/sluice/$DEV_B/picked_flows"
stop "$PROGRAM"
# The kernel does not tell SO_BUSY_POLL_BUDGET, so the call is looked at.
if command -v strace >/dev/null; then
	for n in 16 64; do
		SL_ENV=("${COMMON[@]}" SLUICE_BUSY_POLL=1 SLUICE_BUSY_POLL_BUDGET=$n)
		sb strace -f -qq -o "$TMP/calls" -e trace=setsockopt python3 "$TESTS/net/settings.py" loop "$B4" "$A4" 7000 >/dev/null
		ok "BUSY_POLL_BUDGET=$n" grep -Eq "SO_BUSY_POLL_BUDGET, \\[$n\\], 4\) += 0|, 0x46 .*\) += 0" "$TMP/calls"
	done
fi
start wait SLUICE_MAX_FLOWS=262144
same "the largest tables" "262144 262144" "$(tables flows endpoints)"
stop "$PROGRAM"
limit=$(ulimit -Sn)
ulimit -Sn 1024
start wait SLUICE_MAX_FLOWS=0
same "those of a program that may have few descriptors" "32768 8192" "$(tables flows endpoints)"
stop "$PROGRAM"
if ulimit -Sn 12000 2>/dev/null; then
	start wait SLUICE_MAX_FLOWS=0
	same "those of one that may have more" "32768 12000" "$(tables flows endpoints)"
	stop "$PROGRAM"
fi
ulimit -Sn "$limit"

# How the program is attached -------------------------------------------------------------------
start wait SLUICE_XDP_MODE=generic
ok "XDP_MODE=generic" grep -q 'xdpgeneric' <(b ip -d link show "$DEV_B")
ok "and it is said" logged 'XDP generic (as configured'
stop "$PROGRAM"
run rcvbuf SLUICE_ZEROCOPY=off
ok "ZEROCOPY=off" logged 'copy mode (as configured)'
run rcvbuf SLUICE_ZEROCOPY=force
ok "ZEROCOPY=force: veth has none and stays with the kernel" \
	logged "$DEV_B stays with the kernel: .*zero-copy is demanded.*remedy"

# Receive buffers and batches -------------------------------------------------------------------
run rcvbuf SLUICE_RX_BYTES_MIN=0
ok "RX_BYTES_MIN=0: SO_RCVBUF alone decides ($OUT of 300)" test "$OUT" -le 100
run rcvbuf SLUICE_RX_BYTES_MIN=1m
same "RX_BYTES_MIN=1m: a small SO_RCVBUF is raised" 300 "$OUT"
packets_a_turn() { stat 'round(total("rx_pkts") / (total("turns") - total("idle_turns")), 1)'; }
received() { [ "$(stat 'total("rx_pkts")')" -ge 400 ]; }
for batch in 1 64; do
	start batch "SLUICE_CQ_POLL_BATCH_MAX=$batch" SLUICE_PROGRESS_ENGINE_INTERVAL=0
	wait_until 10 received || fail "nothing received"
	ppt=$(packets_a_turn)
	if [ $batch = 1 ]; then
		same "CQ_POLL_BATCH_MAX=1: packets a turn" 1.0 "$ppt"
	else
		ok "CQ_POLL_BATCH_MAX=64: $ppt packets a turn" test "${ppt%.*}" -ge 2
	fi
	stop "$PROGRAM"
done

# Multicast loop --------------------------------------------------------------------------------
run loop
same "looped by default" "1 b'x'" "$OUT"
run loop SLUICE_TX_MC_LOOPBACK=0
same "TX_MC_LOOPBACK=0" "0 nothing" "$OUT"

# A device that takes no more ------------------------------------------------------------------
full() { # settings...
	# LeakSanitizer does not look into the mapping that open sockets and their queues hang on.
	OUT=$(b env ASAN_OPTIONS=detect_leaks=0 "${COMMON[@]}" "SLUICE_LOG_FILE=$TMP/sluice.%d.log" "$@" "$BIN/txfull" "$B4" "$A4" 7000)
}
need "$BIN/txfull"
full
same "TX_NONBLOCKED_EAGAINS=0: lost in the device's queue, but not in the send buffer" \
	"room in the buffer: 5,none: -11,counted: 2" "$(paste -sd, <<<"$OUT")"
full SLUICE_TX_NONBLOCKED_EAGAINS=1
same "TX_NONBLOCKED_EAGAINS=1" "room in the buffer: -11,none: -11,counted: 2" "$(paste -sd, <<<"$OUT")"

# Polling of sockets that are not offloaded: processor time of a wait, in microseconds -------------
run cpu
slept=$OUT
# (A thread that keeps others from running sleeps instead, for a while. So settings.py has a core of its own there, where
# it may; the tries are for where it may not.)
end=$((SECONDS + 60))
until run cpu SLUICE_RX_POLL_INIT=-1 && [ "$OUT" -gt $((slept + 1000)) ] || [ $SECONDS -ge $end ]; do :; done
ok "RX_POLL_INIT=-1 polls ($OUT us against $slept)" test "$OUT" -gt $((slept + 1000))

# The internal thread ---------------------------------------------------------------------------
keeper_of() { # pid: its thread's id
	local t
	for t in /proc/"$1"/task/*; do
		[ "$(cat "$t/comm")" = sluice ] && basename "$t"
	done
}
cpus_of() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"; }
mkdir "$TMP/cpuset" && : >"$TMP/cpuset/tasks"
start wait SLUICE_INTERNAL_THREAD_AFFINITY=0x1 "SLUICE_INTERNAL_THREAD_CPUSET=$TMP/cpuset"
t=$(keeper_of "$PROGRAM")
same "INTERNAL_THREAD_AFFINITY as a mask" 0 "$(cpus_of "$t")"
ok "the program's threads run where they did" test "$(cpus_of "$PROGRAM")" = "$(cpus_of self)"
same "INTERNAL_THREAD_CPUSET" "$t" "$(cat "$TMP/cpuset/tasks")"
stop "$PROGRAM"
start wait SLUICE_INTERNAL_THREAD_AFFINITY=0-x SLUICE_INTERNAL_THREAD_CPUSET=/nowhere
ok "a wrong list is said" logged 'cannot run on the cores 0-x: EINVAL'
ok "a wrong cpuset too" logged 'cannot join the cpuset /nowhere: ENOENT'
stop "$PROGRAM"

# Counters ---------------------------------------------------------------------------------------
# Rings of 64 that nobody serves: the port's counters say what the kernel had no place for. The
# internal thread is kept away by its interval.
start wait SLUICE_RX_WRE=64 SLUICE_PROGRESS_ENGINE_INTERVAL=0
flood() {
	a python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(400): s.sendto(b"x" * 100, (sys.argv[1], int(sys.argv[2])))' "$B4" "$1"
}
no_place() { [ "$(stat 's["ports"][0]["xsk_rx_ring_full"] + s["ports"][0]["xsk_fill_empty"]')" -ge 100 ]; }
kick() { b ip link set dev "$DEV_B" alias "t$RANDOM"; sleep 0.1; } # an event wakes the internal thread
port=$(b ss -Hanu "src $B4" | awk '{ sub(/.*:/, "", $4); print $4; exit }')
flood "$port"
overflow() { kick; no_place; }
ok "what the kernel had no place for is counted" wait_until 10 overflow
stop "$PROGRAM"

printf 'use os udp_receiver *:1\nuse sluice udp_receiver %s:*\n' "$B4" >"$TMP/conf"
start wait "SLUICE_CONFIG_FILE=$TMP/conf"
ok "a rule counts its decisions" grep -Eq '(line 2).* [1-9][0-9]* hits' <("$BUILD/sluice" rule list --device "$DEV_B")
ok "the others none" not grep -Eq '(line 1).*hits' <("$BUILD/sluice" rule list --device "$DEV_B")
b ip link set dev "$DEV_B" xdp off 2>/dev/null
said() { kick; [ "$(cat "$TMP"/sluice.*.log | grep -c 'steering program was taken off.*taken into use again')" = 1 ]; }
attached() { kick; [ "$(stat 's["ports"][0]["attached"]')" = True ]; }
if b ip link show "$DEV_B" | grep -q xdp; then
	say "the program is held by a link: not taken off"
else
	ok "that the program was taken off is said, and what becomes of it" wait_until 10 said
	ok "it is attached again" wait_until 10 attached
	ok "and that was said once" said
fi
stop "$PROGRAM"
done_testing
