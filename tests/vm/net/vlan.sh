#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs tests of net/ on VLAN devices over real drivers (this machine's kernel may have none). igb takes tags off
# frames, and the steering program cannot ask for them; the log says the remedy, which this test applies.
VM_NICS=${VM_NICS:-virtio igb} VM_SECONDS=${VM_SECONDS:-3000}
VM_PASS="VM_NICS ${VM_PASS:-}"
. "$(dirname "$0")/../lib.sh"
modprobe 8021q || skip "the guest's kernel has no VLAN devices"
export SLUICE_FRAME_SIZE=4096 VLANS NIC_FEATURES
n=0
for nics in $VM_NICS; do
	n=$((n + 1))
	use $n
	case $nics in
	igb*) NIC_FEATURES="rxvlan off" ;;
	*) NIC_FEATURES= ;;
	esac
	for VLANS in 5 "100ad 5"; do
		say "== $nics, VLAN $VLANS"
		MODE=$nics.${VLANS// /.}
		suite vlan udp_basic tcp_stream
	done
done
kernel_quiet
done_testing
