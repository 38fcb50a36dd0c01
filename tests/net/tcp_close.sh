#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# shutdown() and close() of TCP in every order: half close, resets, linger, EPIPE, the end of a program.
. "$(dirname "$0")/lib_tcp.sh"
export TCP_TEST_SECONDS=60 # it starts a dozen programs
net_up
# (450 are of loopback; the kernel alone has 3,100, on a NIC of tests/vm that puts segments together 2,500.)
tcp_differ close 20
done_testing
