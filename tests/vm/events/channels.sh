#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The device is given another number of queues (ethtool -L) under checked traffic, VM_COUNT times, in copy mode and in
# the mode that the library chooses. The program's connection goes on by the kernel, and the log says so. Where the
# change is refused (virtio_net refuses it while there is an XDP program, all drivers in zero-copy mode when a queue is
# in use) the connection goes on as before. The next program is offloaded over the new queues.
VM_NICS=${VM_NICS:-virtio-2} VM_CPUS=2 VM_SECONDS=${VM_SECONDS:-3000}
[ "$VM_NICS" != virtio ] || VM_NICS=virtio-2
VM_PASS="VM_NICS ${VM_PASS:-}"
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
. "$VM_DIR/lib_traffic.sh"
export NIC_QUEUES=2
use 1
net_up
slowly
traffic_begin
round() { # queues, way: runs one program
	local refused=
	rm -f "$TMP/stream"* "$TMP"/sluice.*.log
	SL_ENV=(SLUICE_FRAME_SIZE=4096 SLUICE_ZEROCOPY="$2")
	stream "$TMP/stream"
	STREAM=$BG
	wait_until 60 test -s "$TMP/stream" && moves || return 1
	[ "$(kernels)" != 0 ] || OFFLOADED=$((OFFLOADED + 1))
	if b ethtool -L "$DEV_B" combined "$1"; then
		moves && grep -q 'number of its queues was changed' "$TMP"/sluice.*.log || return 1
		CHANGED=$((CHANGED + 1))
	else
		refused=1
	fi
	moves && touch "$TMP/stream.stop" && wait_end "$STREAM" 60 || return 1
	# (A change that was refused is made between two programs.)
	[ -z "$refused" ] || b ethtool -L "$DEV_B" combined "$1"
}
CHANGED=0 OFFLOADED=0 count=${VM_COUNT:-10}
for i in $(seq "$count"); do
	round $((i % 2 ? 1 : 2)) "$([ $((i % 4)) -lt 2 ] && echo off || echo auto)" || { stood_still "$i" && break; }
	done=$i
done
same "programs whose connection went on" "$count" "${done:-0}"
same "programs that were offloaded" "$count" "$OFFLOADED"
say "changed under a program: $CHANGED of $count times"
kernel_quiet
done_testing
