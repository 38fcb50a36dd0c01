#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls that ask for a connection's outcome give what they give by the kernel, also once the socket is the kernel's.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ left ''
done_testing
