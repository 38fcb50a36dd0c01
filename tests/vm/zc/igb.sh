#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# igb counts receive buffers in kilobytes: with frames of 2,048 bytes it lost all packets over 1,024 in zero-copy mode.
# So the library uses copy mode with such frames, and the log says the remedy. By itself it chooses 4,096 bytes, with
# which zero-copy mode loses nothing. igb starts its device anew when XDP is attached or detached: blocking calls wait
# for the link, others do not.
VM_NICS=igb
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_traffic.sh"
use 1
net_up
traffic_begin
same "the driver" igb "$(b ethtool -i "$DEV_B" | sed -n 's/^driver: //p')"
traffic "small frames" 0 SLUICE_FRAME_SIZE=2048
says "$DEV_B: AF_XDP copy mode (for zero-copy this NIC needs larger frames; remedy: SLUICE_FRAME_SIZE=4096)"
traffic "large frames, which it has by itself" 0
says "$DEV_B: AF_XDP zero-copy"
traffic "small frames, forced" 1 SLUICE_ZEROCOPY=force SLUICE_FRAME_SIZE=2048
says "zero-copy is demanded, and frames of 2048 bytes hold no packet of 1500 there; remedy: SLUICE_FRAME_SIZE=4096"
SL_ENV=()
links() { b ip -o link show dev "$DEV_B" | grep -q LOWER_UP; }
for how in blocking:link nonblocking:none; do
	wait_until 20 links
	same "after bind, ${how%:*}" "${how#*:}" "$(sb python3 "$VM_DIR/bind.py" "$B4" "$DEV_B" "${how%:*}")"
done
# A program that starts just after another one has left the device waits for the link as well, however that one ended.
after() { # WHAT
	same "after bind, right after $1" link "$(sb python3 "$VM_DIR/bind.py" "$B4" "$DEV_B" blocking)"
}
wait_until 20 links
sb python3 "$VM_DIR/bind.py" "$B4" "$DEV_B" blocking >/dev/null
after "another's end"
after "that one's"
bg sb "$BIN/echo" "$B4" 7000
wait_udp b 7000
wait_until 20 links
kill -9 "$BG"
wait "$BG" 2>/dev/null
wait_until 20 not links
after "another was killed"
says "$DEV_B has no link since its driver started it anew"
kernel_quiet
done_testing
