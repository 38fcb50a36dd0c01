#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Several UDP sockets share a port and some of them are the kernel's; a child changes its parent's socket.
PARTS="siblings children" MODES=${MODES:-oracle one}
. "$(dirname "$0")/udp_edges.sh"
