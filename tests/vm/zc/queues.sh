#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# NICs with two queues, in zero-copy mode and in copy mode: flows come by both and are all offloaded. (virtio_net's
# are behind TAPs with as many; igb has a queue for each processor.)
VM_NICS="virtio-2 virtio-2 igb igb" VM_CPUS=2
VM_SECONDS=${VM_SECONDS:-3000}
VM_PASS=VM_WAYS
. "$(dirname "$0")/../lib.sh"
export SLUICE_ZEROCOPY SLUICE_FRAME_SIZE=4096 NIC_QUEUES=2
for way in ${VM_WAYS:-virtio:force igb:force virtio:off igb:off}; do
	SLUICE_ZEROCOPY=${way#*:}
	case $way in
	virtio:*) use 1 2 ;;
	igb:*) use 3 4 ;;
	esac
	say "== two queues, $way"
	MODE=$way
	suite queues udp_peers tcp_accept
done
kernel_quiet
done_testing
