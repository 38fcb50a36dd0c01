#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# One guest, for every `make check`: datagrams and a connection through a real driver, in zero-copy mode, which
# the library must find and report by itself, and in copy mode.
VM_NICS=virtio
VM_FETCH_SECONDS=30 VM_SECONDS=${VM_SECONDS:-140} VM_NICE=${VM_NICE:-0}
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/lib_traffic.sh"
use 1
net_up
traffic_begin
same "the driver" virtio_net "$(b ethtool -i "$DEV_B" | sed -n 's/^driver: //p')"
traffic "by itself" 0
case $VM_KERNEL in
5.10 | 6.1 | 6.12) says "$DEV_B: AF_XDP copy mode (the driver has no zero-copy)" ;; # virtio_net's is of 6.13
*) says "$DEV_B: AF_XDP zero-copy" ;;
esac
case $VM_KERNEL in
5.10) says "no guard holds the kernel's resets back" ;; # before 5.12
*) ok "there is a guard" not grep -qh "no guard holds" "$TMP"/sluice.*.log ;;
esac
traffic "copy mode" 0 SLUICE_ZEROCOPY=off
says "$DEV_B: AF_XDP copy mode (as configured)"
kernel_quiet
done_testing
