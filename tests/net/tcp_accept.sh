#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# listen() and accept(): backlog, flags, what is inherited, loopback and the network in one queue.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ accept 30 "$B4" "$A4"
done_testing
