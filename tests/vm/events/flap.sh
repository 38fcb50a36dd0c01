#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The cable of a device is pulled and put back, and the device is set down and up, in turns, VM_COUNT times,
# while a connection carries bytes that are checked: it is the same one to the end, and still not the kernel's.
VM_NICS=${VM_NICS:-virtio} VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
flap() { # round
	if [ $(($1 % 2)) = 1 ]; then
		cable 1 2 off && sleep 0.2 && cable 1 2 on
	else
		ip -n "${NS}b" link set "$DEV_B" down && sleep 0.2 && ip -n "${NS}b" link set "$DEV_B" up
	fi
}
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096)
stream_begin
rounds flap
stream_end
same "connections that the kernel has" 0 "$(cut -d' ' -f2 "$TMP/stream")"
kernel_quiet
done_testing
