#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# UDP_SEGMENT and UDP_GRO.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ gso 1 50
done_testing
