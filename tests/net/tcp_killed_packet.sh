#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_killed.sh with packet sockets: what waits in a dead process's ring goes to the kernel, or to another worker.
HOW= # (queues of the kernel and of the daemon: the way in does not matter to them)
RX=packet
. "$(dirname "$0")/tcp_killed.sh"
