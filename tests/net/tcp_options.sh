#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Options of TCP sockets, new, connected, accepted and listening; TCP_INFO; ioctls.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ options 60
done_testing
