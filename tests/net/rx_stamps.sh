#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Hardware stamps of what is received, on a NIC whose kernel has them (simulated: steering_nic.c): a socket that asks for
# them stays with the kernel, or goes to it, where packets come without (by packet sockets), and is offloaded where the
# driver tells them to XDP (a veth's does). All other sockets are offloaded on both ways.
. "$(dirname "$0")/lib.sh"
need python3
net_up
MODE=one
export NIC_STAMPS=1
bg a python3 "$TESTS/net/echo_both.py" "$A4" 7100 >"$TMP/echo"
wait_line "$TMP/echo" ready
sockets() { # way, settings...: what each is; ONLY: one of them, in a program of its own
	local pre
	mapfile -t pre < <(preload_env b)
	b "$BIN/steering_nic" "$TMP/nic.state" "$DEV_B" "/var/run/netns/${NS}a" "$DEV_A" env "${pre[@]}" "SLUICE_RX_BACKEND=$1" \
		"${@:2}" "SLUICE_LOG_FILE=$TMP/sluice.%d.log" "SLUICE_STATS_SHMEM_DIR=$TMP/stats" SLUICE_DAEMON=off \
		python3 "$TESTS/net/rx_stamps.py" "$B4" "$A4" 7100 "$BUILD/sluice" ${ONLY:+"$ONLY"} >"$TMP/said" 2>&1
	cat "$TMP/said"
}
say "== packet"
sockets packet >"$TMP/packet"
same "sockets" 17 "$(wc -l <"$TMP/packet")"
same "by packet sockets the kernel has those that ask for the hardware's" "datagrams, bound, then the hardware's
datagrams, connected, then the hardware's
datagrams, the hardware's, then bound
datagrams, the hardware's, then connected
group, bound, joined, then the hardware's
group, the hardware's, then bound, then joined
group, the hardware's, then joined, then bound
listener, the hardware's
stream, connected, then the hardware's
stream, the hardware's, then connected" "$(grep -v offloaded "$TMP/packet" | cut -d: -f1 | sort)"
same "and the reason is an option" "" "$(grep -v 'offloaded\|option' "$TMP/packet")"
# A program that has just one finds its device at bind, connect, listen or join.
grep -v 'offloaded' "$TMP/packet" | cut -d: -f1 >"$TMP/names"
while read -r ONLY <&3; do
	same "$ONLY" "$ONLY: a socket option that is not done in user space" "$(sockets packet)"
done 3<"$TMP/names"
unset ONLY
same "not if stamps are off" "" "$(sockets packet SLUICE_HW_TS_CONVERSION=0 | grep -v offloaded)"
if kernel_is 6.8 && sockets xdp >"$TMP/xdp" && cat "$TMP"/sluice.*.log | grep -q 'XDP native'; then
	same "where the driver tells them, none is the kernel's" "" "$(grep -v offloaded "$TMP/xdp")"
fi
cat "$TMP/packet"
done_testing
