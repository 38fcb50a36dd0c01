#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The broker on a real device: its owner, the remains after a kill, bpftool's view, a program that is taken
# off by hand, and other XDP programs.
MODES=kernel # nothing is preloaded here
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib.sh"
need bpftool socat
net_up
DRIVE=$BUILD/tests/bpf/drive
TOOL=$BUILD/sluice
[ -x "$DRIVE" ] && [ -x "$TOOL" ] || die "not built: $DRIVE, $TOOL"
PIN=/sys/fs/bpf/sluice/$DEV_B

mkfifo "$TMP/fifo"
exec 9<>"$TMP/fifo"
drive() { b "$DRIVE" tool "$TOOL" "$@"; }
# (The program has no pins of its own, so only the device shows it.)
xdp_is_on() { b ip -d link show "$DEV_B" | grep -q 'prog/xdp'; }
reapers() { # processes that hold the name of the device
	b ss -Hxl | grep -c "sluice/port/" || true
}
# Starts a holder of the device in the background; release() lets it go on.
hold() { # file, steps...
	local out=$1
	shift
	bg b "$DRIVE" tool "$TOOL" "$@" say ready wait 9 say resumed alive "$DEV_B" >"$out" 2>&1
	HOLDER=$BG
	wait_line "$out" ready
}
release() { echo >&9; }
text() { a socat -u - "UDP4:$B4:$1" <<<"$2"; }
clean() { # nothing of ours is left
	not xdp_is_on && [ ! -e "$PIN" ] && [ "$(reapers)" = 0 ]
}

# Packets: endpoint and wildcard; what is not claimed goes to the kernel.
bg b socat -u UDP4-RECV:5002 "OPEN:$TMP/kernel,creat"
SOCAT=$BG
wait_udp b 5002
drive open "$DEV_B" lane 0 local "$B4" claim "$B4" 5000 wild 5001 say ready recv 2 >"$TMP/rx" 2>&1 &
RX=$!
wait_line "$TMP/rx" ready
text 5002 kernel
text 5000 endpoint
text 5001 wildcard
ok "two packets reached user space" wait "$RX"
ok "the endpoint's packet has slot and offsets" \
	grep -q 'recv: 51 bytes magic 0x51c2 proto 17 slot 7 gen 42 l3 14 l4 34 text endpoint' "$TMP/rx"
ok "the wildcard's packet came" grep -q 'text wildcard' "$TMP/rx"
ok "what is not claimed reached the kernel" wait_line "$TMP/kernel" kernel
stop "$SOCAT"
ok "an orderly end leaves nothing" wait_until 5 clean

# The device has a program all the time: many drivers reset their link when the first one comes or the last one goes.
bg b ip -d monitor link dev "$DEV_B" >"$TMP/monitor" 2>&1
MONITOR=$BG
sleep 0.2
drive open "$DEV_B" lane 0 say ready >"$TMP/lanes" 2>&1
told() { grep -c "^[0-9]*: $DEV_B" "$TMP/monitor"; }
ok "the device tells of its programs" wait_until 5 eval '[ "$(told)" -gt 1 ]'
sleep 0.2
same "there is no gap between its programs" 1 \
	"$(grep -oE '^[0-9]+:|prog/xdp' "$TMP/monitor" | tr -d '\n' | sed 's/[0-9]*:prog\/xdp/P/g; s/[0-9]*:/-/g' |
		tr -s P | tr -cd P | wc -c)"
stop "$MONITOR"

# Two lanes on one queue; a lane that closes frees its number, frames are told of once.
drive open "$DEV_B" lane 0 lane 1 unlane 1 lane 1 >"$TMP/lanes" 2>&1

ok "lanes open and close" test "$(grep -c "^lane .: queue 0 xsk .* copy$" "$TMP/lanes")" = 3
drive open "$DEV_B" lane 0 lane 0 >"$TMP/lanes" 2>&1
ok "a lane is not opened twice" grep -q 'lane: EBUSY (.*lane 0 is open already)' "$TMP/lanes"

# A bound program must have room for what the verifier adds (lib/ctl/steer/load.c), far from its end.
bound_room() { # instructions that the attached program has less than its object
	local id have
	id=$(b ip -d link show "$DEV_B" | sed -n 's/.*prog\/xdp id \([0-9]*\).*/\1/p' | head -n 1)
	have=$(bpftool -j prog show id "$id" | sed -n 's/.*"bytes_xlated":\([0-9]*\).*/\1/p')
	readelf -SW "$BUILD/steer_bound.bpf.o" | sed 's/\[[^]]*\]//' | {
		n=0
		while read -r name _ _ _ size _; do
			case $name in .text | xdp) n=$((n + 0x$size)) ;; esac
		done
		echo $((have ? (n - have) / 8 : -1))
	}
}

# Pins read like a table; a second process is told who has the device.
hold "$TMP/hold" open "$DEV_B" lane 0 local "$B4" claim "$B4" 5000
ok "the endpoint is readable" sh -c "bpftool map dump pinned $PIN/endpoints | tr -d '\n\t ' |
	grep -q '\"local_port\":5000,\"proto\":17.*\"slot\":7,\"gen\":42'"
for m in flows endpoints rules lanes counters locals groups ports; do
	ok "$m is pinned" test -n "$(bpftool map show pinned "$PIN/$m")"
done
drive open "$DEV_B" >"$TMP/second" 2>&1
ok "a second process is told who has it" \
	grep -q "open: EBUSY (device $DEV_B is used by process $HOLDER (drive))" "$TMP/second"
ok "and the first keeps it" xdp_is_on
ROOM=$(bound_room)
ok "the program has room for $ROOM instructions more" [ "$ROOM" -ge 300 ]

# Taken off by hand: noticed, and the claim's traffic is the kernel's.
b ip link set dev "$DEV_B" xdp off 2>/dev/null || b bpftool link detach id \
	"$(bpftool -j link show | python3 -c 'import json,sys
for l in json.load(sys.stdin):
    if l.get("type") == "xdp" and l.get("devname") in (None, sys.argv[1]): print(l["id"])' "$DEV_B" | tail -n 1)"
not xdp_is_on || say "(the program cannot be taken off by hand here)"
release
wait_end "$HOLDER" 10
ok "a program taken off by hand is noticed" grep -q 'alive: 0' "$TMP/hold"
ok "the end after that leaves nothing" wait_until 5 clean

# Killed: no program, no pins, no owner; the next one gets the device at once.
for round in 1 2 3; do
	hold "$TMP/hold" open "$DEV_B" lane 0 claim "$B4" 5000 fork
	CHILD=$(sed -n 's/^child //p' "$TMP/hold")
	kill -9 "$HOLDER"
	drive open "$DEV_B" lane 0 >"$TMP/next" 2>&1
	same "round $round: the next process has the device after a kill" "0 " "$? $(grep EBUSY "$TMP/next")"
	ok "round $round: nothing is left, though a child lives" wait_until 5 clean
	kill -9 "$CHILD"
done

# Packets pass from the very moment of a kill: 200 datagrams to the claimed port, then the kernel's.
hold "$TMP/hold" open "$DEV_B" lane 0 claim "$B4" 5000
bg b socat -u UDP4-RECV:5000 "OPEN:$TMP/after,creat"
SOCAT=$BG
wait_udp b 5000
kill -9 "$HOLDER"
wait "$HOLDER" 2>/dev/null
for i in $(seq 200); do printf 'n%d\n' "$i"; done >"$TMP/sent"
a python3 -c 'import socket,sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for line in open(sys.argv[2]): s.sendto(line.encode(), (sys.argv[1], 5000))' "$B4" "$TMP/sent"
ok "all packets after a kill reach the kernel" wait_until 5 cmp -s "$TMP/sent" "$TMP/after"
stop "$SOCAT"

# Exec: the process lives on, but as another program.
bg b "$DRIVE" tool "$TOOL" open "$DEV_B" lane 0 execsleep >"$TMP/exec" 2>&1
SLEEP=$BG
wait_line "$TMP/exec" '^lane'
wait_until 5 sh -c "grep -qx sleep /proc/$SLEEP/comm"
ok "exec leaves nothing" wait_until 5 clean
kill -9 "$SLEEP"

# The reaper is no child of the program, and has none of its descriptors.
hold "$TMP/hold" open "$DEV_B" lane 0
reaper_of() { # pid: the reaper in its network namespace
	local p
	for p in $(pgrep -f "^sluice reaper"); do
		[ "$(readlink "/proc/$p/ns/net")" = "$(readlink "/proc/$1/ns/net")" ] && echo "$p"
	done
}
R=$(reaper_of "$HOLDER")
ok "the reaper runs" test -n "$R"
same "the program has no children" "" "$(cat "/proc/$HOLDER/task/$HOLDER/children")"
NINE="0 1 2 3 4 5 6 7 8"
same "the reaper has nine descriptors" "$NINE" "$(ls "/proc/$R/fd" | xargs)"
kill -TERM "$R"
kill -INT "$R"
kill -HUP "$R"
ok "it is not stopped by signals" kill -0 "$R"
release
wait_end "$HOLDER" 10
ok "it ends with the program" wait_until 5 gone "$R"

# A reaper that somebody killed: the program still ends as it would have, not by SIGPIPE.
hold "$TMP/hold" open "$DEV_B" lane 0
kill -9 "$(reaper_of "$HOLDER")"
release
wait_end "$HOLDER" 10
same "a killed reaper does not kill the program" 0 $?
ok "nothing is left" clean

# Hardly any descriptors: offloaded with a reaper, or not offloaded, and nothing is ever left.
for n in 16 20 22 24 26 28 30 32 40; do
	bg b prlimit --nofile=$n:$n "$DRIVE" tool "$TOOL" open "$DEV_B" lane 0 say ready wait 9 >"$TMP/hold" 2>&1
	HOLDER=$BG
	wait_line "$TMP/hold" ready
	if grep -q '^lane 0: queue' "$TMP/hold"; then
		same "$n descriptors: the reaper's" "$NINE" "$(ls "/proc/$(reaper_of "$HOLDER")/fd" | xargs)"
	else
		ok "$n descriptors: nothing is left while it runs" wait_until 5 clean
	fi
	kill -9 "$HOLDER"
	ok "$n descriptors: nothing is left after it" wait_until 5 clean
done

# A kernel that blinds constants may move a bound program: there the program is not bound, and the log says so.
mkdir "$TMP/core"
echo 2 >"$TMP/core/bpf_jit_harden"
b unshare -m sh -c 'mount --bind "$1" /proc/sys/net/core; shift; exec "$@"' - "$TMP/core" \
	"$DRIVE" tool "$TOOL" open "$DEV_B" lane 0 >"$TMP/blind" 2>&1
# (In a dispatcher nothing is bound anyway.)
grep -q "beside other" "$TMP/blind" || ok "blinded constants: nothing bound, with the remedy" grep -q 'remedy: sysctl net.core.bpf_jit_harden=1' "$TMP/blind"
ok "and yet offloaded" grep -q '^lane 0: queue' "$TMP/blind"

# Without the tool: alone, not pinned, and still nothing is left.
bg b "$DRIVE" tool /nowhere/sluice open "$DEV_B" lane 0 say ready wait 9 >"$TMP/hold" 2>&1
HOLDER=$BG
wait_line "$TMP/hold" ready
ok "without the tool nothing is pinned" test ! -e "$PIN"
ok "and it is said" grep -q 'no reaper' "$TMP/hold"
kill -9 "$HOLDER"
ok "and a kill leaves nothing" wait_until 5 clean

# A foreign program: ours runs beside it where the kernel has freplace, else the device is refused; the foreign program is
# never removed.
programs() { b xdp-loader status "$DEV_B" | grep -o 'xdpfilt[a-z_]*\|steer' | xargs; }
if b xdp-loader load "$DEV_B" /usr/lib/*/bpf/xdpfilt_alw_all.o 2>/dev/null; then
	drive open "$DEV_B" >"$TMP/foreign" 2>&1
	ok "a foreign program is respected" grep -q 'open: EBUSY (.*remedy\|beside other' "$TMP/foreign"
	same "and stays" xdpfilt_alw_all "$(programs)"
	if grep -q 'beside other' "$TMP/foreign"; then
		hold "$TMP/hold" open "$DEV_B" lane 0
		same "both are on the device, the filter first" "xdpfilt_alw_all steer" "$(programs)"
		kill -9 "$HOLDER"
		ok "after a kill only the filter is" wait_until 5 sh -c '[ "$1" = "$2" ]' - \
			xdpfilt_alw_all "$(sleep 1; programs)"
		hold "$TMP/hold" open "$DEV_B" lane 0
		b xdp-loader unload "$DEV_B" --all
		release
		wait_end "$HOLDER" 10
		ok "all programs taken off: noticed" grep -q 'alive: 0' "$TMP/hold"
		same "and no dispatcher is left" "" "$(ls /sys/fs/bpf/xdp)"
	fi
	b xdp-loader unload "$DEV_B" --all 2>/dev/null
fi

# Refusals say the remedy.
ip -n "${NS}a" link set "$DEV_A" mtu 3000
ip -n "${NS}b" link set "$DEV_B" mtu 3000
drive open "$DEV_B" >"$TMP/mtu" 2>&1
ok "a large MTU is taken" grep -q "open: $DEV_B driver veth" "$TMP/mtu"
ok "and leaves nothing" wait_until 5 clean
ip -n "${NS}b" link set "$DEV_B" mtu 1500
drive open lo >"$TMP/lo" 2>&1
ok "loopback is refused" grep -q 'open: EOPNOTSUPP' "$TMP/lo"
b setpriv --reuid 65534 --regid 65534 --clear-groups "$DRIVE" open "$DEV_B" >"$TMP/perm" 2>&1
ok "without privilege the remedy is told" grep -q 'open: EPERM (.*remedy' "$TMP/perm"
done_testing
