#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A datagram of this host and one of another host: the program reads the older one first.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ udp_older 1 ''
done_testing
