#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests of net/, as they are, over real drivers in zero-copy mode (VM_WAYS="virtio:off igb:off": in copy mode); each compares with
# the kernel's sockets over the same NIC. (tcp_close is not among them yet: in a guest it
# fails by the kernel's sockets, too, and why is not known.) VM_SUITE chooses of
# the tests.
VM_NICS="virtio igb"
VM_SECONDS=${VM_SECONDS:-6000}
VM_PASS=VM_WAYS
. "$(dirname "$0")/../lib.sh"
# Zero-copy is demanded: where it were not to be had, the test would find its packets in the kernel.
for way in ${VM_WAYS:-virtio:force igb:force}; do
	export SLUICE_ZEROCOPY=${way#*:}
	case $way in
	virtio:*) use 1 && unset SLUICE_FRAME_SIZE ;;
	igb:*) use 2 && export SLUICE_FRAME_SIZE=4096 ;; # frames of 2,048 bytes are too small (igb.sh)
	esac
	say "== $way"
	MODE=$way
	suite udp_basic udp_opts tcp_accept
done
kernel_quiet
done_testing
