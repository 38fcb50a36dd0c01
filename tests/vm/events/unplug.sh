#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A card is pulled out and put back, VM_COUNT times, while a connection carries bytes that are checked: the
# connection goes on each time, as the kernel's do, and a program that starts then is offloaded.
VM_NICS=${VM_NICS:-virtio} VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096)
stream_begin
MOVED=0 COUNT=${VM_COUNT:-100}
for round in $(seq "$COUNT"); do
	unplug 1 2 && plug 1 2 || break
	dev=$(nic 1 2)
	ip link set "$dev" down name "$DEV_B" netns "${NS}b" && addr_up b "$DEV_B" "$B4/24" "$B6/64" || break
	moves || break
	MOVED=$round
	[ "$round" -gt 2 ] || HELD=$(holds)
done
same "it goes on after each" "$COUNT" "$MOVED"
same "descriptors and programs after the second and the last" "$HELD" "$(holds)"
stream_end
ok "a new connection" sb python3 "$VM_DIR/bytes.py" ask "$A4" 7001 100000 "$TMP/asked" 20
say "bytes, and connections that the kernel has: $(cat "$TMP/asked")"
kernel_quiet
done_testing
