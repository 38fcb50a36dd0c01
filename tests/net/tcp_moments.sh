#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Moments at which a connection must go to the kernel: exec, spawn, SCM_RIGHTS, options; and dup, at which it need not.
. "$(dirname "$0")/lib_tcp.sh"
export TCP_TEST_SECONDS=60
net_up
MAC_A=$(ip -n "${NS}a" -o link show "$DEV_A" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
ip -n "${NS}b" neigh add "$NET4.77" lladdr "$MAC_A" dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh add "$NET6::77" lladdr "$MAC_A" dev "$DEV_B" nud permanent
ip -n "${NS}a" route add blackhole "$NET4.77" && ip -n "${NS}a" route add blackhole "$NET6::77"
FAMILIES=4 tcp_differ moments "" "$NET4.77"
FAMILIES=6 tcp_differ moments "" "$NET6::77"
done_testing
