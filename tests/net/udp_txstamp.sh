#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Transmit time stamps of datagrams: SO_TIMESTAMPING and the error queue.
. "$(dirname "$0")/lib.sh"
net_up
SL_ENV+=(SLUICE_HW_TS_CONVERSION=disable) # a veth has no hardware, but its NIC with VERBS=1: tests/sim/stamps.sh
peer_is_kernels
udp_differ txstamp 1 20
done_testing
