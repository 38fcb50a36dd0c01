#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP_NOTSENT_LOWAT and the setting tcp_notsent_lowat: how much is taken that cannot be sent yet, and when a program
# that waits for room is woken.
MODES=${MODES:-oracle one}
. "$(dirname "$0")/lib_tcp.sh"
net_up
b sysctl -qw net.ipv4.tcp_notsent_lowat=100000
FAMILIES=${FAMILIES:-4} tcp_differ unsent 30
done_testing
