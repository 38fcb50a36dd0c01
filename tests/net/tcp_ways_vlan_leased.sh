#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_ways_vlan.sh through the daemon.
LEASED=1 ONLY=${ONLY:-fast_open}
. "$(dirname "$0")/tcp_ways_vlan.sh"
