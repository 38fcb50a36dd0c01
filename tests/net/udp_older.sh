#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Of a datagram of this host and one of another the older is read first.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ udp_older 1 ''
done_testing
