#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# An unconnected socket and a hundred peers.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ peers 100 2000 100
done_testing
