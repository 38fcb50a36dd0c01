#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Packets over the inline limit go through the NIC's own memory: their contents, the counters, and the cases of no room,
# less memory than was asked for, or none.
unset SLUICE_STATS_SHMEM_DIR # a place of its own: what is listed is all that is there
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
SIM=$TMP/nic.a
SIM_CAPTURE=$TMP/capture.pcap
BIN=$BUILD/tests/net
bg b "$BIN/echo" "$B4" 7000
ECHO=$BG
wait_udp b 7000
a "$BIN/steady" -n 1 "$B4" 7000 "$TMP/answers" # (makes the neighbour known: until then the kernel sends)
mkfifo "$TMP/go"
exec 7<>"$TMP/go"

begin() { # settings.. -- steps of devmem.py: stops at the first wait
	rm -f "$TMP"/sluice.*.log "$SIM"/report.*
	SL_ENV=("SIM_NIC_CAPTURE=$SIM_CAPTURE")
	while [ "$1" != -- ]; do
		SL_ENV+=("$1")
		shift
	done
	shift
	bg sa python3 "$TESTS/sim/devmem.py" "$B4" 7000 "$@" <"$TMP/go" >"$TMP/out"
	PROGRAM=$BG
	WAITS=0
	waits
}
waits() { # for the next stop
	WAITS=$((WAITS + 1))
	wait_until 20 has_stopped || die "the program does not come to its stop $WAITS"
}
has_stopped() { [ "$(grep -c waits "$TMP/out")" -ge $WAITS ]; }
go() { echo >&7; }
finish() { # what, how many come back
	go
	ok "$1: it ends" wait_end "$PROGRAM" 30
	same "$1: all come back as they were" "good $2" "$(tail -n 1 "$TMP/out")"
	same "$1: checksums and lengths" "wrong 0" "$(python3 "$TESTS/sim/capture.py" "$SIM_CAPTURE" contents | grep wrong)"
}
stat_line() { # of sluice stat
	"$BUILD/sluice" stat -v 3 -c 1 -k "$TMP/stats" 2>/dev/null | sed -n "s/^Dev Mem $1: *//p" | head -n 1
}

for options in min_inline=0 min_inline=18; do
	SIM_OPTIONS=$options
	begin SLUICE_RING_DEV_MEM_TX=16384 -- 1 20x100 = 300x1000 ..
	same "$options: what there is of it" 16384 "$(stat_line Alloc)"
	same "$options: what went by it" "$((300 * 1042 / 1024)) / 300 / 0 [kilobytes/packets/oob]" "$(stat_line Stats)"
	finish "$options" 320
	same "$options: the NIC has sent from it as often" 300 "$(counted dm_sends)"
	same "$options: all but the head" $((300 * (1042 - 18))) "$(counted dm_bytes)"
done
SIM_OPTIONS=

# The manual has one look for a line of libvma's at DEBUG.
begin VMA_TRACELEVEL=DEBUG SLUICE_RING_DEV_MEM_TX=16384 -- 1 1x100 ..
ok "DEBUG: the device's memory" logged 'DEBUG *: verbs: simulated0: port(s): 1 vendor: [0-9]* fw: [^ ]* max_qp_wr: [1-9][0-9]* on_device_memory: [1-9][0-9]*$'
finish "debug" 1

# Sixteen packets of 1 KB fill the NIC's memory; the rest is sent from host memory. Afterwards it is free again.
begin VMA_RING_DEV_MEM_TX=16384 -- 1 .. 40x1000 .. = 5x1000 ..
same "the NIC stands still" ok "$(nic_control a 'stall 1')"
go
waits
same "no room for the rest" "$((16 * 1042 / 1024)) / 16 / 24 [kilobytes/packets/oob]" "$(stat_line Stats)"
same "the NIC goes on" ok "$(nic_control a 'stall 0')"
go
waits
same "there is room again" "$((21 * 1042 / 1024)) / 21 / 24 [kilobytes/packets/oob]" "$(stat_line Stats)"
finish "exhausted" 45

SIM_OPTIONS=dm=4096
begin SLUICE_RING_DEV_MEM_TX=16384 -- 1 3x1400 ..
same "less than asked for" 4096 "$(stat_line Alloc)"
finish "less" 3
SIM_OPTIONS=dm=4096
begin SLUICE_RING_DEV_MEM_TX=4096 SLUICE_RING_ALLOCATION_LOGIC_RX=10 -- 2 4x1400 ..
ok "a second lane finds none" logged 'no on-device memory: there is none left'
finish "a second lane" 4
same "the first one has it" 2 "$(counted dm_sends)"
SIM_OPTIONS=dm=0
begin SLUICE_RING_DEV_MEM_TX=16384 -- 1 8x1400 ..
ok "the log says that there is none" logged 'no on-device memory: the device has none'
same "nothing to show" "" "$(stat_line Alloc)"
finish "none" 8

# The inline limit, and the doorbell that carries a small packet, as settings.
SIM_OPTIONS=min_inline=0
begin SLUICE_TX_MAX_INLINE=100 SLUICE_TX_WRE_BATCHING=1 -- 1 1x50 = 1x200 = 3x50 = ..
finish "an inline limit" 5
same "TX_MAX_INLINE=100: the packets below it are inline" $((4 * 92)) "$(counted inline_bytes)"
ok "small packets are in the doorbell ($(counted blue_flames))" test "$(counted blue_flames)" -ge 1
begin SLUICE_TX_MAX_INLINE=0 SLUICE_BF=0 SLUICE_TX_WRE_BATCHING=1 -- 1 5x50 = ..
finish "no inline, no BlueFlame" 5
same "TX_MAX_INLINE=0: none is" 0 "$(counted inline_bytes)"
same "BF=0: none is in the doorbell" 0 "$(counted blue_flames)"
stop "$ECHO"
done_testing
