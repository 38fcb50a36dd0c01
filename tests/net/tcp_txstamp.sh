#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Transmit time stamps of a stream: SO_TIMESTAMPING, of bytes sent and acknowledged.
. "$(dirname "$0")/lib_tcp.sh"
net_up
SL_ENV+=(SLUICE_HW_TS_CONVERSION=disable) # a veth has no hardware, but its NIC with VERBS=1: tests/sim/stamps.sh
peer_is_kernels
tcp_differ txstamp ""
done_testing
