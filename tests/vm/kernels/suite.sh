#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests of the other rooms, as they are, on another kernel (VM_KERNEL), over veth: what the library makes of the
# kernel's features, which it finds out by trying. VM_SUITE chooses others. What a kernel does not have is skipped by
# the test itself, which says so.
VM_NICS=
VM_SECONDS=${VM_SECONDS:-3000}
VM_PASS=VM_TEST_SECONDS
MODES=${MODES:-oracle one}
export MODES
. "$(dirname "$0")/../lib.sh"
MODE="Linux $(uname -r)"
suite bpf/test_steer bpf/test_claim udp_basic udp_gso tcp_options tcp_refused unclaimed held xdp_off preload/load \
	steer_attach sluiced
kernel_quiet
done_testing
