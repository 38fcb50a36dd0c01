#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_ways.sh where both ways are VLAN devices, eth0.5 and eth1.5: segments come with a tag, the kernel's answers
# leave by netfilter without one.
VLANS=5 MODES=${MODES:-one}
. "$(dirname "$0")/tcp_ways.sh"
