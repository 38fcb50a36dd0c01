#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# One guest, for every check: datagrams and a connection through a real driver, in zero-copy mode, which
# is found and said without being asked for, and in copy mode.
VM_NICS=virtio
VM_FETCH_SECONDS=30 VM_SECONDS=140 VM_NICE=0
. "$(dirname "$0")/lib.sh"
use 1
net_up
MODE=one
same "the driver" virtio_net "$(b ethtool -i "$DEV_B" | sed -n 's/^driver: //p')"
bg a python3 "$VM_DIR/bytes.py" serve "$A4" 7001
wait_tcp a 7001
for zc in "auto zero-copy" "off copy mode (as configured)"; do
	SL_ENV=("SLUICE_ZEROCOPY=${zc%% *}")
	rm -f "$TMP"/sluice.*.log
	offload_begin
	ok "datagrams, bytes over TCP: $zc" sb python3 "$VM_DIR/bytes.py" ask "$A4" 7001 200000 "$TMP/asked" 20
	ok "${zc#* } is said" grep -qF "$DEV_B: AF_XDP ${zc#* }" "$TMP"/sluice.*.log
	offload_end 20
	same "the bytes were not the kernel's: $zc" "200000 0" "$(cat "$TMP/asked")"
done
kernel_quiet
done_testing
