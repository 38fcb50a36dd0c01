#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The ports of connections: a small range, most of it in TIME_WAIT.
. "$(dirname "$0")/lib_tcp.sh"
net_up
b sysctl -qw net.ipv4.ip_local_port_range="40000 40199"
tcp_differ ports 15
done_testing
