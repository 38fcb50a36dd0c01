#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Of several UDP sockets on one port some are the kernel's; a child changes its parent's socket.
PARTS="siblings children" MODES=${MODES:-oracle one}
. "$(dirname "$0")/udp_edges.sh"
