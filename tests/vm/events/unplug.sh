#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A card is pulled out and put back, VM_COUNT times, while two connections carry bytes that are checked. They
# go on each time, as the kernel's do: one of a program that sees it all, and one of a program that starts anew
# when the card is there, and is offloaded by it.
VM_NICS=${VM_NICS:-virtio} VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
replug() {
	local dev
	"${PULL:-unplug}" 1 2 && "${PUT_BACK:-plug}" 1 2 || return 1
	dev=$(nic 1 2)
	ip link set "$dev" down name "$DEV_B" netns "${NS}b" && addr_up b "$DEV_B" "$B4/24" "$B6/64"
}
OFFLOADED=0
replug_under_both() { # round
	local file=$TMP/rider.$1 rider
	[ "$1" != 1 ] || { replug && return; } # (the first program has the first card)
	stream "$file"
	rider=$BG
	wait_until 60 test -s "$file" || return 1
	[ "$(kernels)" != 1 ] || OFFLOADED=$((OFFLOADED + 1)) # (the first is the kernel's)
	replug && moves "$file" "$rider" && touch "$file.stop" && wait_end "$rider" 60
}
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096)
slowly
stream_begin
rounds replug_under_both
same "new programs that were offloaded" "$((${VM_COUNT:-100} - 1))" "$OFFLOADED"
stream_end
kernel_quiet
done_testing
