#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# poll, epoll and select on TCP sockets: the bits of every state as the kernel has them, edges, sleep.
. "$(dirname "$0")/lib_tcp.sh"
net_up
# No host answers at .77 (see tcp_connect.sh).
MAC_A=$(ip -n "${NS}a" -o link show "$DEV_A" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
ip -n "${NS}b" neigh add "$NET4.77" lladdr "$MAC_A" dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh add "$NET6::77" lladdr "$MAC_A" dev "$DEV_B" nud permanent
FAMILIES=4 tcp_differ poll 20 "$NET4.77"
FAMILIES=6 tcp_differ poll 20 "$NET6::77"
done_testing
