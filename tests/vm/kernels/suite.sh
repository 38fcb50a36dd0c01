#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs tests of the other rooms, as they are, on another kernel (VM_KERNEL), over veth: the library finds out a kernel's
# features by trying. VM_SUITE chooses other tests. A test skips features that the kernel lacks, and says so.
VM_NICS=
VM_SECONDS=${VM_SECONDS:-3000}
VM_PASS=VM_TEST_SECONDS
MODES=${MODES:-oracle one}
export MODES
. "$(dirname "$0")/../lib.sh"
MODE="Linux $(uname -r)"
# (Both sides share the guest's only processor, so a side that polls takes time from the other. ROUNDS: of tcp_handback,
# in each direction.)
export SLUICE_RX_POLL=100 SLUICE_SELECT_POLL=20 ROUNDS=${ROUNDS:-6}
suite bpf/test_steer bpf/test_claim bpf/test_ktypes udp_basic udp_gso tcp_options tcp_refused unclaimed tcp_ways guard_nft held \
	xdp_off preload/load steer_attach sluiced lease_once tcp_accept tcp_connect preload/epoll tcp_handback tcp_stream
ok "the doctor takes the kernel" eval '"$BUILD/sluice" doctor | grep -q "ok *kernel $(uname -r)"'
kernel_quiet
done_testing
