#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# listen() and accept(): backlog, flags, what is inherited, loopback and the network in one queue.
. "$(dirname "$0")/lib_tcp.sh"
net_up
# (Loopback is the kernel's, and so is, after the end, what was open then: 230 to 350 of 1,050.)
tcp_differ accept 40 "$B4" "$A4"
done_testing
