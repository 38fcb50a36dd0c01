#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connections to different peers share the local ports of a small range.
. "$(dirname "$0")/lib_tcp.sh"
net_up
b sysctl -qw net.ipv4.ip_local_port_range="61000 61009"
tcp_differ few_ports 1000
done_testing
