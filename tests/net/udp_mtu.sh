#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# IP_MTU_DISCOVER, IP_MTU, datagrams beyond the MTU there, back and both.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ mtu 1 ''
done_testing
